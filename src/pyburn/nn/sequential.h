// Sequential: modules that run one after another, named "0", "1", ... by default.
#pragma once
#include "pyburn/nn/module_sequence.h"

namespace pyburn::nn {

class Sequential : public ModuleSequence {
 public:
  using ModuleSequence::ModuleSequence;
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(Sequential)
};

template <class... M>
Ref<Sequential> sequential(Ref<M>... modules) {
  return make_ref<Sequential>(std::initializer_list<Ref<Module>>{std::move(modules)...});
}

}  // namespace pyburn::nn
