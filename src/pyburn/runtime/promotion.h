// The common dtype of operands.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

// PyTorch's rule: tensors with dimensions first, then 0-d tensors, then numbers; a later class counts only if its category (bool < integer
// < floating) is higher. Undefined tensors are ignored.
DType promoted_dtype(Inputs in, const Scalar* number = nullptr);

}  // namespace pyburn
