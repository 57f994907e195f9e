#include "pyburn/nn/choice.h"

#include <cctype>

#include "pyburn/nn/activation.h"
#include "pyburn/nn/batch_norm.h"
#include "pyburn/nn/norm.h"
#include "pyburn/nn/shape.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

std::string plain(std::string_view name) {
  std::string text;
  for (char c : name)
    if (c != '_') text += char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <class L>
Ref<Module> make() {
  return make_ref<L>(typename L::Config{});
}

struct Choice {
  const char* name;
  Ref<Module> (*make)();
};
constexpr Choice activations[] = {
    {"celu", make<CELU>},
    {"elu", make<ELU>},
    {"gelu", make<GELU>},
    {"geluapproximate", [] { return Ref<Module>(make_ref<GELU>(GELUFunction{.approximate = "tanh"})); }},
    {"glu", make<GLU>},
    {"hardshrink", make<Hardshrink>},
    {"hardsigmoid", make<Hardsigmoid>},
    {"hardswish", make<Hardswish>},
    {"hardtanh", make<Hardtanh>},
    {"identity", [] { return Ref<Module>(make_ref<Identity>()); }},
    {"leakyrelu", make<LeakyReLU>},
    {"logsigmoid", make<LogSigmoid>},
    {"mish", make<Mish>},
    {"prelu", make<PReLU>},
    {"relu", make<ReLU>},
    {"relu6", make<ReLU6>},
    {"rrelu", make<RReLU>},
    {"selu", make<SELU>},
    {"shrink", make<Shrink>},
    {"sigmoid", make<Sigmoid>},
    {"silu", make<SiLU>},
    {"softplus", make<Softplus>},
    {"softshrink", make<Softshrink>},
    {"softsign", make<Softsign>},
    {"tanh", make<Tanh>},
    {"tanhshrink", make<Tanhshrink>},
    {"thresholdedrelu", make<ThresholdedReLU>},
};

// Makes L<1>, L<2> or L<3>.
template <template <int> class L, class C>
Ref<Module> with_axes(int dims, C config) {
  require<ValueError>(dims >= 1 && dims <= 3, "dims must be 1, 2 or 3: got {}", dims);
  if (dims == 1) return make_ref<L<1>>(config);
  return dims == 2 ? Ref<Module>(make_ref<L<2>>(config)) : Ref<Module>(make_ref<L<3>>(config));
}

}  // namespace

Ref<Module> activation(std::string_view name) {
  std::string known;
  for (const Choice& choice : activations) {
    if (plain(name) == choice.name) return choice.make();
    known += (known.empty() ? "" : ", ") + std::string(choice.name);
  }
  fail<ValueError>("unknown activation '{}': expected one of {}", name, known);
}

Ref<Module> normalization(std::string_view name, NormalizationOptions o) {
  std::string kind = plain(name);
  if (kind.ends_with("norm")) kind.resize(kind.size() - 4);
  if (kind == "identity") return make_ref<Identity>();
  if (kind == "batch") return with_axes<BatchNorm>(o.dims, BatchNormConfig{.num_features = o.num_features});
  if (kind == "instance") return with_axes<InstanceNorm>(o.dims, InstanceNormConfig{.num_features = o.num_features});
  if (kind == "group") return make_ref<GroupNorm>(GroupNormConfig{.num_groups = o.num_groups, .num_channels = o.num_features});
  if (kind == "layer") return make_ref<LayerNorm>(LayerNormConfig{.normalized_shape = {o.num_features}});
  if (kind == "rms") return make_ref<RMSNorm>(RMSNormConfig{.normalized_shape = {o.num_features}});
  fail<ValueError>("unknown normalisation '{}': expected one of identity, batch, group, instance, layer, rms", name);
}

}  // namespace pyburn::nn
