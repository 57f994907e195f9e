#include "pyburn/nn/stateless.h"

#include "pyburn/ops/functions.h"

namespace pyburn::nn {

Tensor ReLU::forward(const Tensor& x) { return config_.inplace ? x.relu_() : relu(x); }
Tensor Flatten::forward(const Tensor& x) { return flatten(x, config_.start_dim, config_.end_dim); }

}  // namespace pyburn::nn
