// Parameter: a tensor that modules register and optimisers change.
#pragma once
#include "pyburn/ops/tensor.h"

namespace pyburn::nn {

class Parameter : public Tensor {
 public:
  // Shares the memory of `data`, without its history. DTypeError when a gradient is asked of integers.
  explicit Parameter(const TensorHandle& data, bool requires_grad = true);
};

}  // namespace pyburn::nn
