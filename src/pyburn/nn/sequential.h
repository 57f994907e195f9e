// Sequential: modules that run one after another, named "0", "1", ... unless given names.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

class Sequential : public Module {
 public:
  Sequential() = default;
  Sequential(std::initializer_list<Ref<Module>> modules);
  explicit Sequential(NamedModules modules);
  void append(Ref<Module> module);
  int64_t size() const;
  Ref<Module> at(int64_t index) const;  // negative counts from the end; IndexError
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "Sequential"; }
};

template <class... M>
Ref<Sequential> sequential(Ref<M>... modules) {
  return make_ref<Sequential>(std::initializer_list<Ref<Module>>{std::move(modules)...});
}

}  // namespace pyburn::nn
