#include "pyburn/nn/linear.h"

#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

Linear::Linear(LinearConfig config, Placement p) : Layer(config) {
  require(config.in_features >= 0, "[Linear] in_features must not be negative: got {}", config.in_features);
  require(config.out_features >= 0, "[Linear] out_features must not be negative: got {}", config.out_features);
  register_parameter("weight", Parameter(fn::empty({config.out_features, config.in_features}, p.dtype, p.device)));
  register_parameter("bias", config.bias ? Parameter(fn::empty({config.out_features}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

void Linear::reset_parameters() { init::layer_default_(tensor("weight"), tensor("bias")); }

TensorHandle Linear::forward(const TensorHandle& x) { return fn::linear(x, needed(*this, "weight"), tensor("bias")); }

Bilinear::Bilinear(BilinearConfig config, Placement p) : Layer(config) {
  const BilinearConfig& c = config;
  require<ValueError>(c.in1_features > 0, "in1_features must be > 0, but got {}", c.in1_features);
  register_parameter("weight", Parameter(fn::empty({c.out_features, c.in1_features, c.in2_features}, p.dtype, p.device)));
  register_parameter("bias", c.bias ? Parameter(fn::empty({c.out_features}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

void Bilinear::reset_parameters() {
  const double bound = 1 / std::sqrt(double(config_.in1_features));
  init::uniform_(tensor("weight"), -bound, bound);
  if (const TensorHandle& bias = tensor("bias"); bias.defined()) init::uniform_(bias, -bound, bound);
}

TensorHandle Bilinear::forward(const TensorHandle& input1, const TensorHandle& input2) {
  return fn::bilinear(input1, input2, needed(*this, "weight"), tensor("bias"));
}

}  // namespace pyburn::nn
