#include "pyburn/nn/stateless.h"

#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/movement.h"

namespace pyburn::nn {

TensorHandle ReLU::forward(const TensorHandle& x) { return config_.inplace ? (fn::relu_into(x, x), x) : fn::relu(x); }
TensorHandle Flatten::forward(const TensorHandle& x) { return fn::flatten(x, config_.start_dim, config_.end_dim); }

}  // namespace pyburn::nn
