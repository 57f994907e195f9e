// ModuleSequence: base of containers with numbered children "0", "1", ...
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

class ModuleSequence : public Module {
 public:
  ModuleSequence() = default;
  ModuleSequence(std::initializer_list<Ref<Module>> modules);
  explicit ModuleSequence(NamedModules modules);

  int64_t size() const;
  std::vector<Ref<Module>> modules() const;
  // Negative indices count from the end; IndexError.
  Ref<Module> at(int64_t index) const;
  void set(int64_t index, Ref<Module> module);  // keeps the name
  void append(Ref<Module> module);
  void extend(const std::vector<Ref<Module>>& modules);
  // These renumber the children.
  void insert(int64_t index, Ref<Module> module);  // before `index`; size() appends
  Ref<Module> pop(int64_t index = -1);
  void set_modules(std::vector<Ref<Module>> modules);

 private:
  size_t entry_of(int64_t index) const;
};

}  // namespace pyburn::nn
