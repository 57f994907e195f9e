#include "pyburn/nn/feed_forward.h"

#include <cctype>

#include "pyburn/nn/activation.h"
#include "pyburn/nn/dropout.h"
#include "pyburn/nn/linear.h"
#include "pyburn/nn/parts.h"
#include "pyburn/nn/shape.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn {
namespace {

struct Named {
  const char* name;
  Ref<Module> (*make)();
};
template <class L>
constexpr Named named(const char* name) {
  return {name, [] { return Ref<Module>(make_ref<L>(typename L::Config())); }};
}
Ref<Module> approximate_gelu() {
  GELU::Config tanh;
  tanh.approximate = "tanh";
  return make_ref<GELU>(tanh);
}

// In the order of Burn's list; names have neither case nor underscores here.
constexpr Named kActivations[] = {{"identity", [] { return Ref<Module>(make_ref<Identity>()); }}, named<GELU>("gelu"),
    {"geluapproximate", approximate_gelu}, named<PReLU>("prelu"), named<ReLU>("relu"), named<LeakyReLU>("leakyrelu"), named<SELU>("selu"),
    named<Sigmoid>("sigmoid"), named<Tanh>("tanh"), named<Hardsigmoid>("hardsigmoid"), named<Hardswish>("hardswish"),
    named<Softplus>("softplus"), named<Softsign>("softsign"), named<ELU>("elu"), named<CELU>("celu"),
    named<ThresholdedReLU>("thresholdedrelu"), named<Hardshrink>("hardshrink"), named<Softshrink>("softshrink"), named<Shrink>("shrink"),
    named<SiLU>("silu"), named<Mish>("mish"), named<ReLU6>("relu6"), named<Hardtanh>("hardtanh"), named<LogSigmoid>("logsigmoid"),
    named<Tanhshrink>("tanhshrink")};

}  // namespace

Ref<Module> make_activation(std::string_view name) {
  std::string plain;
  for (char letter : name)
    if (letter != '_') plain.push_back(char(std::tolower(static_cast<unsigned char>(letter))));
  for (const Named& a : kActivations)
    if (plain == a.name) return a.make();
  std::string known;
  for (const Named& a : kActivations) known += (known.empty() ? "" : ", ") + std::string(a.name);
  fail<ValueError>("unknown activation '{}': expected one of {}", std::string(name), known);
}

PositionWiseFeedForward::PositionWiseFeedForward(PositionWiseFeedForwardConfig config, Placement p) : Layer(std::move(config)) {
  const PositionWiseFeedForwardConfig& c = config_;
  check_size(c.d_model, "d_model");
  check_size(c.d_ff, "d_ff");
  register_module("linear_inner", make_ref<Linear>(c.d_model, c.d_ff, true, p));
  register_module("activation", make_activation(c.activation));
  DropoutFunction dropout;
  dropout.p = c.dropout;
  register_module("dropout", make_ref<Dropout>(dropout));
  register_module("linear_outer", make_ref<Linear>(c.d_ff, c.d_model, true, p));
}

TensorHandle PositionWiseFeedForward::forward(const TensorHandle& x) {
  TensorHandle y = x;
  for (const char* part : {"linear_inner", "activation", "dropout", "linear_outer"}) y = child(*this, part).call(y);
  return y;
}

GatedLinear::GatedLinear(GatedConfig config, Placement p) : Layer(config) {
  for (const char* name : {"linear_inner", "linear_outer"})
    register_module(name, make_ref<Linear>(config.d_input, config.d_output, config.bias, p));
}

TensorHandle GatedLinear::gated(const TensorHandle& x, TensorHandle (*gate)(const TensorHandle&)) {
  return gate(child(*this, "linear_inner").call(x)) * child(*this, "linear_outer").call(x);
}

TensorHandle gates::silu(const TensorHandle& x) { return fn::silu(x); }
TensorHandle gates::gelu(const TensorHandle& x) { return fn::gelu(x); }
TensorHandle gates::relu(const TensorHandle& x) { return fn::relu(x); }

}  // namespace pyburn::nn
