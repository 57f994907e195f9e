// Layer<Config>: a module whose options are one struct. Printing, copying, saving and the Python constructor are derived from its PB_FIELDS
// and its LayerText.
#pragma once
#include <algorithm>

#include "pyburn/ir/fields.h"
#include "pyburn/nn/module.h"

namespace pyburn::nn {

// How options are passed and printed.
struct LayerText {
  int required = 0;                // the leading options, which have no default for users
  int positional = 0, always = 0;  // printed without a name, and always; the other options only if they differ from the default
  const char* keyword_only = "";   // keyword-only options: "bias"
  const char* hidden = "";         // options that are never printed: "inplace, return_indices"
  const char* quoted = "";         // options printed in quotes: "mode"
  bool printed = true;             // false: print no options
  const char* switches = "bias";   // options that say whether there is a parameter with their name: the attribute returns the parameter
  const char* refused = "";        // error messages for options that only related layers have; each begins with the name of the option
  const char* truths = "";         // flags converted by truth value: "bias"
  const char* typed = "";          // options that are not type-checked: "bias"
};
std::string config_text(AnyConfig config, LayerText style);
bool lists(const char* names, std::string_view name);  // whether "a, b" lists a

// Device and dtype of a layer's parameters; the process defaults if absent.
struct Placement {
  std::optional<DType> dtype;
  Device* device = nullptr;
};

// Creates a layer with its options and an empty registry, to be filled by copying or loading.
struct Unfilled {};

// A constructor argument that is a tensor and becomes a buffer: the weights of a loss.
struct TensorOption : TensorHandle {
  TensorOption() = default;
  TensorOption(const TensorHandle& t) : TensorHandle(t) {}
  bool operator==(const TensorOption& o) const { return is_same(o); }
};

template <class C>
class Layer : public Module {
 public:
  using Config = C;
  explicit Layer(C config) : config_(std::move(config)) {}
  std::string extra_repr() const override {
    if constexpr (requires { config_.extra_repr(); }) return config_.extra_repr();
    else return config_text({&attr_type<C>, const_cast<C*>(&config_)}, C::text);
  }
  AnyConfig config() override { return {&attr_type<C>, &config_, C::text.switches}; }
  const C& options() const { return config_; }

 protected:
  C config_;
};

// A name as a template argument.
template <size_t N>
struct LayerName {
  constexpr LayerName(const char (&text)[N]) { std::copy_n(text, N, letters); }
  char letters[N];
};

// A layer without parameters: its Config is a function object of the tensors that forward() takes and, if needed, of the training mode. The
// optional complete() of a Config fills in options and throws for invalid ones.
template <LayerName Name, class C>
class FunctionLayerBase : public Layer<C> {
 public:
  explicit FunctionLayerBase(C config = {}) : Layer<C>(std::move(config)) {
    if constexpr (requires { this->config_.complete(); }) this->config_.complete();
  }
  FunctionLayerBase(C config, Unfilled) : Layer<C>(std::move(config)) {}
  std::string type_name() const override { return Name.letters; }
};

template <LayerName Name, class C, class Signature = decltype(&C::operator())>
class FunctionLayer;

template <LayerName Name, class C>
class FunctionLayer<Name, C, TensorHandle (C::*)(const TensorHandle&) const> : public FunctionLayerBase<Name, C> {
 public:
  using FunctionLayerBase<Name, C>::FunctionLayerBase;
  PB_COPYABLE(FunctionLayer)
  TensorHandle forward(const TensorHandle& x) override { return this->config_(x); }
};

template <LayerName Name, class C>
class FunctionLayer<Name, C, TensorHandle (C::*)(const TensorHandle&, bool) const> : public FunctionLayerBase<Name, C> {
 public:
  using FunctionLayerBase<Name, C>::FunctionLayerBase;
  PB_COPYABLE(FunctionLayer)
  TensorHandle forward(const TensorHandle& x) override { return this->config_(x, this->training()); }
};

// Several inputs: Function describes them to host languages.
template <LayerName Name, class C, class... In>
class FunctionLayer<Name, C, TensorHandle (C::*)(In...) const> : public FunctionLayerBase<Name, C> {
 public:
  using Function = TensorHandle(In...);
  using FunctionLayerBase<Name, C>::FunctionLayerBase;
  PB_COPYABLE(FunctionLayer)
  using Module::forward;
  TensorHandle forward(In... inputs) { return this->config_(inputs...); }
};

}  // namespace pyburn::nn
