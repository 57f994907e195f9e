// What a schema says about the tensors of an operation. For operations that come from files and networks, whose tensors
// no typed function has put together.
#pragma once
#include "pyburn/ir/operation.h"

namespace pyburn {

// FormatError unless these are inputs that op can have, `given` says which are there, and as many outputs.
void check_signature(OpRef op, std::span<const bool> given, int64_t outputs);

}  // namespace pyburn
