// ModuleDict: modules by name, in insertion order. It has no forward.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

class ModuleDict : public Module {
 public:
  ModuleDict() = default;
  explicit ModuleDict(NamedModules modules);

  int64_t size() const;
  bool contains(std::string_view key) const;
  std::vector<std::string> keys() const;
  Ref<Module> at(std::string_view key) const;  // IndexError if there is none
  void set(const std::string& key, Ref<Module> module);
  void update(NamedModules modules);
  Ref<Module> pop(std::string_view key);
  PB_MODULE(ModuleDict)
};

}  // namespace pyburn::nn
