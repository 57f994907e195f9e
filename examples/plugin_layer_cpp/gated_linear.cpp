#include "gated_linear.h"

#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/functions.h"
#include "pyburn/plugin.h"

using namespace pyburn;

namespace pyburn_gated {

GatedLinear::GatedLinear(GatedLinearConfig config, nn::Placement p) : Layer(config) {
  nn::check_size(config.in_features, "in_features");
  nn::check_size(config.out_features, "out_features");
  const Dims shape{config.out_features, config.in_features};
  register_parameter("weight", nn::Parameter(empty(shape, p.dtype, p.device)));
  register_parameter("gate", nn::Parameter(empty(shape, p.dtype, p.device)));
  register_parameter("bias", config.bias ? nn::Parameter(empty({config.out_features}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

void GatedLinear::reset_parameters() {
  nn::init::layer_default_(tensor("weight"), tensor("bias"));
  nn::init::layer_default_(tensor("gate"), {});
}

// Parameters are asked for by name: users may have replaced them, and parametrizations compute them.
TensorHandle GatedLinear::forward(const TensorHandle& x) {
  return linear(x, nn::needed(*this, "weight"), tensor("bias")) * sigmoid(linear(x, nn::needed(*this, "gate")));
}

}  // namespace pyburn_gated

// What pyburn.load_library calls.
PYBURN_PLUGIN() { nn::register_layer<pyburn_gated::GatedLinear>("Applies a linear transformation, and a gate to each of its features."); }
