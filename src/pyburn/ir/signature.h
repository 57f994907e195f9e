// The tensor arguments of an operation according to its schema, for operations from files and networks, whose arguments no typed function
// has checked.
#pragma once
#include "pyburn/ir/operation.h"

namespace pyburn {

// FormatError unless op accepts these inputs (`given` says which are present) and has as many outputs.
void check_signature(OpRef op, std::span<const bool> given, int64_t outputs);

}  // namespace pyburn
