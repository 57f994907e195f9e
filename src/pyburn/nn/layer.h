// Layer<Config>: a module whose options are one struct. Printing, copying, saving and the constructor in Python derive from its
// PB_FIELDS and its LayerText.
#pragma once
#include <algorithm>

#include "pyburn/ir/fields.h"
#include "pyburn/nn/module.h"

namespace pyburn::nn {

// How the options are written: which a constructor needs, and which are printed.
struct LayerText {
  int required = 0;                // the first options, which have no default for users
  int positional = 0, always = 0;  // printed without a name, and even where they have their default; the rest where they differ
  const char* keyword_only = "";   // options that are never given by position: "bias"
  const char* hidden = "";         // options that are never printed: "inplace, return_indices"
  const char* quoted = "";         // options printed in quotes: "mode"
  bool printed = true;             // false: none of them
  const char* switches = "bias";   // options that say whether there is a parameter of their name: to be asked for as the parameter
  const char* refused = "";        // what is said to an option that only a kindred layer has; it begins with the name of that option
  const char* truths = "";         // flags that are the truth of whatever is given: "bias"
  const char* typed = "";          // options of which nothing is taken for a bool or an int that is none: "bias"
};
std::string config_text(AnyConfig config, LayerText style);
bool lists(const char* names, std::string_view name);  // whether "a, b" lists a

// Where and in which dtype a layer makes its parameters; the defaults of the process when absent.
struct Placement {
  std::optional<DType> dtype;
  Device* device = nullptr;
};

// Makes a layer with its options and an empty registry, to be filled by whoever copies or loads one.
struct Unfilled {};

// A tensor that the constructor is given, and that the layer then keeps as a buffer: the weights of a loss.
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

// A layer without parameters: its Config is a function object, of the tensors that forward() takes and, where it matters, of whether
// it trains. complete(), where a Config has it, makes the options whole, and throws where they do not make sense.
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

// Several inputs: Function tells hosts which.
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
