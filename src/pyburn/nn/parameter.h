// Parameter: a tensor that modules register and optimisers change.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn::nn {

class Parameter : public TensorHandle {
 public:
  // Shares the memory of `data`, without its history. DTypeError when a gradient is asked of integers.
  explicit Parameter(const TensorHandle& data, bool requires_grad = true);
};

}  // namespace pyburn::nn
