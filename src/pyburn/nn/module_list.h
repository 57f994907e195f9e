// ModuleList: a list of modules. It has no forward.
#pragma once
#include "pyburn/nn/module_sequence.h"

namespace pyburn::nn {

class ModuleList : public ModuleSequence {
 public:
  using ModuleSequence::ModuleSequence;
  PB_MODULE(ModuleList)
  bool folds_repeated_children() const override { return true; }
};

}  // namespace pyburn::nn
