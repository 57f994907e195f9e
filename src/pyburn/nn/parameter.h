// Parameter: a tensor that modules register and optimisers update.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn::nn {

class Parameter : public TensorHandle {
 public:
  // Shares the memory of `data`, without its history. DTypeError if an integer tensor should require gradients.
  explicit Parameter(const TensorHandle& data, bool requires_grad = true);
};

}  // namespace pyburn::nn
