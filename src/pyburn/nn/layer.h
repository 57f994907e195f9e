// Layer<Config>: a module whose options are one struct. Printing, copying and saving derive from its PB_FIELDS.
#pragma once
#include "pyburn/ir/fields.h"
#include "pyburn/nn/module.h"

namespace pyburn::nn {

// How options are printed: the first ones without a name, some always, the rest where they differ from the default.
struct ConfigText {
  int positional = 0, always = 0;
};
std::string config_text(AnyConfig config, ConfigText style);

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

}  // namespace pyburn::nn
