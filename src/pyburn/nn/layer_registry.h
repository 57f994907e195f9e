// Layers of plugins: the information that a host language needs to create a class for them.
//
//   PYBURN_PLUGIN() { nn::register_layer<Gate>("Scales each feature by a learned gate."); }
#pragma once
#include <memory>
#include <span>

#include "pyburn/nn/layer.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

struct LayerEntry {
  std::string name, doc;
  const AttrType* config;  // its options
  LayerText text;
  bool placed;                      // creates parameters, so its constructor takes device and dtype
  std::vector<std::string> inputs;  // the names of the tensors that forward() takes
  Ref<Module> (*make)(const void* config, const Placement&);
  Ref<Module> (*make_unfilled)(const void* config);  // see Unfilled
  bool (*is_instance)(const Module&);                // the following functions accept only such modules
  TensorHandle (*forward)(Module&, std::span<const TensorHandle> inputs);
  void (*reset_parameters)(Module&);  // null if there is none
};
using LayerEntries = std::vector<std::shared_ptr<const LayerEntry>>;  // in order of registration

void register_layer(LayerEntry);
LayerEntries layer_entries();

namespace detail {

// The function of a layer that a call runs: its only forward(), or the overload that Function names.
template <class L>
constexpr auto forward_of() {
  if constexpr (requires { typename L::Function; }) return static_cast<typename L::Function L::*>(&L::forward);
  else return &L::forward;
}
template <class L, class Base, class... T>
TensorHandle call_forward(L& layer, TensorHandle (Base::*forward)(T...), std::span<const TensorHandle> in) {
  return [&]<size_t... I>(std::index_sequence<I...>) { return (layer.*forward)(in[I]...); }
  (std::index_sequence_for<T...>());
}
template <class Base, class... T>
constexpr size_t count_inputs(TensorHandle (Base::*)(T...)) {
  return sizeof...(T);
}

template <class L>
constexpr auto reset_of() -> void (*)(Module&) {
  if constexpr (requires(L & l) { l.reset_parameters(); }) return [](Module& m) { static_cast<L&>(m).reset_parameters(); };
  else return nullptr;
}

}  // namespace detail

// A layer: a subclass of Layer<Config> whose Config has PB_FIELDS and a LayerText, constructible from (Config) or (Config, Placement) and
// from (Config, Unfilled). `inputs` names the tensors of a forward() with several.
template <class L>
void register_layer(std::string doc, std::vector<std::string> inputs = {"input"}) {
  using Config = typename L::Config;
  constexpr bool placed = std::is_constructible_v<L, Config, Placement>;
  require<ValueError>(inputs.size() == detail::count_inputs(detail::forward_of<L>()),
      "[register_layer] expected a name for each of {} inputs: got {}", int64_t(detail::count_inputs(detail::forward_of<L>())),
      int64_t(inputs.size()));
  register_layer({
      .name = L(Config(), Unfilled{}).type_name(),
      .doc = std::move(doc),
      .config = &attr_type<Config>,
      .text = Config::text,
      .placed = placed,
      .inputs = std::move(inputs),
      .make = [](const void* config, [[maybe_unused]] const Placement& placement) -> Ref<Module> {
        const Config& c = *static_cast<const Config*>(config);
        if constexpr (placed) return make_ref<L>(c, placement);
        else return make_ref<L>(c);
      },
      .make_unfilled = [](const void* config) -> Ref<Module> { return make_ref<L>(*static_cast<const Config*>(config), Unfilled{}); },
      .is_instance = [](const Module& m) { return dynamic_cast<const L*>(&m) != nullptr; },
      .forward = [](Module& m,
                     std::span<const TensorHandle> in) { return detail::call_forward(static_cast<L&>(m), detail::forward_of<L>(), in); },
      .reset_parameters = detail::reset_of<L>(),
  });
}

}  // namespace pyburn::nn
