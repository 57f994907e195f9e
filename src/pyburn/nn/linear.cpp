#include "pyburn/nn/linear.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/matmul.h"

namespace pyburn::nn {

Linear::Linear(LinearConfig config, Placement p) : Layer(config) {
  register_parameter("weight", Parameter(fn::empty({config.out_features, config.in_features}, p.dtype, p.device)));
  register_parameter("bias", config.bias ? Parameter(fn::empty({config.out_features}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

void Linear::reset_parameters() { init::layer_default_(tensor("weight"), tensor("bias")); }

TensorHandle Linear::forward(const TensorHandle& x) { return fn::linear(x, tensor("weight"), tensor("bias")); }

}  // namespace pyburn::nn
