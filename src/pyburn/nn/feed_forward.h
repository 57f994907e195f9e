// Feed-forward blocks of transformers: two linear layers with an activation, or a gated linear layer.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

// The activation of that name ("gelu", "leaky_relu", in any case) with default options; ValueError for others. Burn's Activation.
Ref<Module> make_activation(std::string_view name);

struct PositionWiseFeedForwardConfig {
  int64_t d_model = 1, d_ff = 1;
  double dropout = 0.1;
  std::string activation = "gelu";  // a name that make_activation accepts
  PB_FIELDS(d_model, d_ff, dropout, activation)
  static constexpr LayerText text{.required = 2, .always = 2, .quoted = "activation"};
};

// linear_outer(dropout(activation(linear_inner(x)))), applied to each token.
class PositionWiseFeedForward : public Layer<PositionWiseFeedForwardConfig> {
 public:
  explicit PositionWiseFeedForward(PositionWiseFeedForwardConfig config, Placement placement = {});
  PositionWiseFeedForward(PositionWiseFeedForwardConfig config, Unfilled) : Layer(std::move(config)) {}
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(PositionWiseFeedForward)
};

struct GatedConfig {
  int64_t d_input = 1, d_output = 1;
  bool bias = false;
  PB_FIELDS(d_input, d_output, bias)
  static constexpr LayerText text{.required = 2, .always = 3};
};

// activation(linear_inner(x)) * linear_outer(x)
class GatedLinear : public Layer<GatedConfig> {
 public:
  GatedLinear(GatedConfig config, Placement placement);
  GatedLinear(GatedConfig config, Unfilled) : Layer(config) {}

 protected:
  TensorHandle gated(const TensorHandle& x, TensorHandle (*gate)(const TensorHandle&));
};

template <LayerName Name, TensorHandle (*Gate)(const TensorHandle&)>
class Gated final : public GatedLinear {
 public:
  explicit Gated(GatedConfig config, Placement placement = {}) : GatedLinear(config, placement) {}
  Gated(GatedConfig config, Unfilled u) : GatedLinear(config, u) {}
  TensorHandle forward(const TensorHandle& x) override { return gated(x, Gate); }
  std::string type_name() const override { return Name.letters; }
  PB_COPYABLE(Gated)
};
namespace gates {
TensorHandle silu(const TensorHandle& x);
TensorHandle gelu(const TensorHandle& x);
TensorHandle relu(const TensorHandle& x);
}  // namespace gates
using SwiGLU = Gated<"SwiGLU", gates::silu>;
using GEGLU = Gated<"GEGLU", gates::gelu>;
using ReGLU = Gated<"ReGLU", gates::relu>;

}  // namespace pyburn::nn
