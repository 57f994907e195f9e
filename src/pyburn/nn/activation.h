// Activations: element-wise functions as layers. Options are Scalars, so that they print as the user wrote them.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct NoOptions : NoAttrs {
  static constexpr LayerText text{};
};
// inplace: the result overwrites the input.
struct InPlaceOption {
  bool inplace = false;
  PB_FIELDS(inplace)
  static constexpr LayerText text{};
};

// ---- without options, or with inplace only

struct ReLUFunction : InPlaceOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct ReLU6Function : InPlaceOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct SELUFunction : InPlaceOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct SiLUFunction : InPlaceOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct MishFunction : InPlaceOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct HardswishFunction : InPlaceOption {
  static constexpr LayerText text{.printed = false};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct HardsigmoidFunction : InPlaceOption {
  static constexpr LayerText text{.printed = false};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct SigmoidFunction : NoOptions {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct LogSigmoidFunction : NoOptions {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct TanhFunction : NoOptions {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct TanhshrinkFunction : NoOptions {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct SoftsignFunction : NoOptions {
  TensorHandle operator()(const TensorHandle& x) const;
};

using ReLU = FunctionLayer<"ReLU", ReLUFunction>;
using ReLU6 = FunctionLayer<"ReLU6", ReLU6Function>;
using SELU = FunctionLayer<"SELU", SELUFunction>;
using SiLU = FunctionLayer<"SiLU", SiLUFunction>;
using Mish = FunctionLayer<"Mish", MishFunction>;
using Hardswish = FunctionLayer<"Hardswish", HardswishFunction>;
using Hardsigmoid = FunctionLayer<"Hardsigmoid", HardsigmoidFunction>;
using Sigmoid = FunctionLayer<"Sigmoid", SigmoidFunction>;
using LogSigmoid = FunctionLayer<"LogSigmoid", LogSigmoidFunction>;
using Tanh = FunctionLayer<"Tanh", TanhFunction>;
using Tanhshrink = FunctionLayer<"Tanhshrink", TanhshrinkFunction>;
using Softsign = FunctionLayer<"Softsign", SoftsignFunction>;

// ---- with numeric options

struct ELUFunction {
  Scalar alpha = 1.0;
  bool inplace = false;
  PB_FIELDS(alpha, inplace)
  static constexpr LayerText text{.always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct CELUFunction {
  Scalar alpha = 1.0;
  bool inplace = false;
  PB_FIELDS(alpha, inplace)
  static constexpr LayerText text{.always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct LeakyReLUFunction {
  Scalar negative_slope = 0.01;
  bool inplace = false;
  PB_FIELDS(negative_slope, inplace)
  static constexpr LayerText text{.always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct RReLUFunction {
  Scalar lower = 1. / 8, upper = 1. / 3;
  bool inplace = false;
  PB_FIELDS(lower, upper, inplace)
  static constexpr LayerText text{.always = 2};
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};
struct HardtanhFunction {
  Scalar min_val = -1.0, max_val = 1.0;
  bool inplace = false;
  PB_FIELDS(min_val, max_val, inplace)
  static constexpr LayerText text{.always = 2};
  void complete() const;
  TensorHandle operator()(const TensorHandle& x) const;
};
struct ThresholdFunction {
  Scalar threshold, value;
  bool inplace = false;
  PB_FIELDS(threshold, value, inplace)
  static constexpr LayerText text{.required = 2, .always = 2};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct GELUFunction {
  std::string approximate = "none";  // or 'tanh'
  PB_FIELDS(approximate)
  static constexpr LayerText text{.always = 1, .quoted = "approximate"};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct HardshrinkFunction {
  Scalar lambd = 0.5;
  PB_FIELDS(lambd)
  static constexpr LayerText text{.positional = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct SoftshrinkFunction {
  Scalar lambd = 0.5;
  PB_FIELDS(lambd)
  static constexpr LayerText text{.positional = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct SoftplusFunction {
  Scalar beta = 1.0, threshold = 20.0;
  PB_FIELDS(beta, threshold)
  static constexpr LayerText text{.always = 2};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct GLUFunction {
  int64_t dim = -1;
  PB_FIELDS(dim)
  static constexpr LayerText text{.always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};

using ELU = FunctionLayer<"ELU", ELUFunction>;
using CELU = FunctionLayer<"CELU", CELUFunction>;
using LeakyReLU = FunctionLayer<"LeakyReLU", LeakyReLUFunction>;
using RReLU = FunctionLayer<"RReLU", RReLUFunction>;
using Hardtanh = FunctionLayer<"Hardtanh", HardtanhFunction>;
using Threshold = FunctionLayer<"Threshold", ThresholdFunction>;
using GELU = FunctionLayer<"GELU", GELUFunction>;
using Hardshrink = FunctionLayer<"Hardshrink", HardshrinkFunction>;
using Softshrink = FunctionLayer<"Softshrink", SoftshrinkFunction>;
using Softplus = FunctionLayer<"Softplus", SoftplusFunction>;
using GLU = FunctionLayer<"GLU", GLUFunction>;

// ---- Burn's

struct HardSigmoidFunction {  // Hardsigmoid with configurable slope and offset
  Scalar alpha = 0.2, beta = 0.5;
  PB_FIELDS(alpha, beta)
  static constexpr LayerText text{.always = 2};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct ShrinkFunction {
  Scalar lambd = 0.5, bias = 0.5;
  PB_FIELDS(lambd, bias)
  static constexpr LayerText text{.always = 2};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct ThresholdedReLUFunction {
  Scalar alpha = 1.0;
  PB_FIELDS(alpha)
  static constexpr LayerText text{.always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};

using HardSigmoid = FunctionLayer<"HardSigmoid", HardSigmoidFunction>;
using Shrink = FunctionLayer<"Shrink", ShrinkFunction>;
using ThresholdedReLU = FunctionLayer<"ThresholdedReLU", ThresholdedReLUFunction>;

// ---- with a parameter

struct PReLUConfig {
  int64_t num_parameters = 1;  // one slope for all channels, or one per channel
  Scalar init = 0.25;
  PB_FIELDS(num_parameters, init)
  static constexpr LayerText text{.always = 1, .hidden = "init"};
};

class PReLU : public Layer<PReLUConfig> {
 public:
  explicit PReLU(PReLUConfig config = {}, Placement placement = {});
  PReLU(PReLUConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(PReLU)
};

}  // namespace pyburn::nn
