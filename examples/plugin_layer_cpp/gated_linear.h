// GatedLinear: y = (x @ weight.T + bias) * sigmoid(x @ gate.T), a linear layer that learns which of its features to let through.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn_gated {

// The options of the layer, which are the arguments of its constructor in Python.
struct GatedLinearConfig {
  int64_t in_features = 1, out_features = 1;
  bool bias = true;
  PB_FIELDS(in_features, out_features, bias)  // attributes, printing, copies and files derive from this line
  static constexpr pyburn::nn::LayerText text{.required = 2, .always = 3};
};

class GatedLinear : public pyburn::nn::Layer<GatedLinearConfig> {
 public:
  explicit GatedLinear(GatedLinearConfig config, pyburn::nn::Placement placement = {});
  GatedLinear(GatedLinearConfig config, pyburn::nn::Unfilled) : Layer(config) {}  // for copies and files, which fill it
  void reset_parameters();
  pyburn::TensorHandle forward(const pyburn::TensorHandle& x) override;
  PB_MODULE(GatedLinear)
};

}  // namespace pyburn_gated
