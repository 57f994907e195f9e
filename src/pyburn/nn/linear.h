// Linear: y = x @ weight.T + bias. Bilinear: y = x1 @ weight @ x2 + bias.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct LinearConfig {
  int64_t in_features = 1, out_features = 1;
  bool bias = true;
  PB_FIELDS(in_features, out_features, bias)
  static constexpr LayerText text{.required = 2, .always = 3};
};

class Linear : public Layer<LinearConfig> {
 public:
  explicit Linear(LinearConfig config, Placement placement = {});
  Linear(LinearConfig config, Unfilled) : Layer(config) {}
  Linear(int64_t in_features, int64_t out_features, bool bias = true, Placement placement = {})
      : Linear(LinearConfig{in_features, out_features, bias}, placement) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(Linear)
};

// The output projection of attention, with the name that PyTorch prints.
class NonDynamicallyQuantizableLinear final : public Linear {
 public:
  using Linear::Linear;
  PB_MODULE(NonDynamicallyQuantizableLinear)
};

struct BilinearConfig {
  int64_t in1_features = 1, in2_features = 1, out_features = 1;
  bool bias = true;
  PB_FIELDS(in1_features, in2_features, out_features, bias)
  static constexpr LayerText text{.required = 3, .always = 4};
};

class Bilinear : public Layer<BilinearConfig> {
 public:
  explicit Bilinear(BilinearConfig config, Placement placement = {});
  Bilinear(BilinearConfig config, Unfilled) : Layer(config) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& input1, const TensorHandle& input2);
  PB_MODULE(Bilinear)
};

}  // namespace pyburn::nn
