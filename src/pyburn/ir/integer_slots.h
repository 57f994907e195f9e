// The integers inside an operation, in field order: ints, the entries of lists, numbers that are integers, and in graphs inside it the
// extents of all values and the integers of all nodes.
#pragma once
#include "pyburn/ir/operation.h"

namespace pyburn {

using Slots = SmallVector<int64_t, 16>;

Slots integer_slots(OpRef op);
// Takes the same path through the operation as integer_slots().
Operation with_integer_slots(const Operation& op, const Slots& slots);  // as many as integer_slots() gave
// Are they equal except for the values of their integers?
bool same_but_for_integers(const Operation& a, const Operation& b);

}  // namespace pyburn
