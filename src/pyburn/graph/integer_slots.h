// The integers of an operation's attributes, in field order: ints, list entries, and integer scalars.
#pragma once
#include "pyburn/ir/operation.h"

namespace pyburn {

using Slots = SmallVector<int64_t, 16>;

Slots integer_slots(OpRef op);
Operation with_integer_slots(const Operation& op, const Slots& slots);  // as many as integer_slots() gave
// Are they equal except for the values of their integers?
bool same_but_for_integers(const Operation& a, const Operation& b);

}  // namespace pyburn
