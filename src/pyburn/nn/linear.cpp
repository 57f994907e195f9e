#include "pyburn/nn/linear.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/functions.h"

namespace pyburn::nn {

Linear::Linear(LinearConfig config, Placement p) : Layer(config) {
  register_parameter("weight", Parameter(empty({config.out_features, config.in_features}, p.dtype, p.device)));
  register_parameter("bias", config.bias ? Parameter(empty({config.out_features}, p.dtype, p.device)) : Tensor());
  reset_parameters();
}

void Linear::reset_parameters() { init::layer_default_(tensor("weight"), tensor("bias")); }

Tensor Linear::forward(const Tensor& x) { return linear(x, tensor("weight"), tensor("bias")); }

}  // namespace pyburn::nn
