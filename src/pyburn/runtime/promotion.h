// The dtype that operands of different dtypes have in common.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

// PyTorch's rule: tensors with axes decide, then 0-d tensors, then numbers; a later class only counts when its
// category (bool < integer < floating) is higher. Undefined tensors do not count.
DType promoted_dtype(Inputs in, const Scalar* number = nullptr);

}  // namespace pyburn
