// Tensors that take results.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn {

// An empty tensor that is given to take a result (out=) takes its shape as well, on memory of its own. Others stay as they are.
void fit_empty(const TensorHandle& out, const Shape& shape);

}  // namespace pyburn
