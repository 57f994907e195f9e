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

template <class C>
class Layer : public Module {
 public:
  using Config = C;
  explicit Layer(C config) : config_(std::move(config)) {}
  std::string extra_repr() const override { return config_text({&attr_type<C>, const_cast<C*>(&config_)}, C::text); }
  AnyConfig config() override { return {&attr_type<C>, &config_}; }

 protected:
  C config_;
};

// A name as a template argument.
template <size_t N>
struct LayerName {
  constexpr LayerName(const char (&text)[N]) { std::copy_n(text, N, letters); }
  char letters[N];
};

// A layer without parameters: its Config is a function object, of the tensor and, where it matters, of whether it trains.
template <LayerName Name, class C>
class FunctionLayer : public Layer<C> {
 public:
  explicit FunctionLayer(C config = {}) : Layer<C>(std::move(config)) {}
  FunctionLayer(C config, Unfilled) : Layer<C>(std::move(config)) {}
  TensorHandle forward(const TensorHandle& x) override {
    if constexpr (requires { this->config_(x, true); }) return this->config_(x, this->training());
    else return this->config_(x);
  }
  std::string type_name() const override { return Name.letters; }
};

}  // namespace pyburn::nn
