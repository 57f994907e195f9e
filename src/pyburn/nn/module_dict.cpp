#include "pyburn/nn/module_dict.h"

#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

const Entry* child(const std::vector<Entry>& entries, std::string_view key) {
  for (const Entry& e : entries)
    if (e.kind == Entry::Kind::module && e.name == key) return &e;
  return nullptr;
}

}  // namespace

ModuleDict::ModuleDict(NamedModules modules) { update(std::move(modules)); }

int64_t ModuleDict::size() const { return int64_t(keys().size()); }

bool ModuleDict::contains(std::string_view key) const { return child(entries(), key); }

std::vector<std::string> ModuleDict::keys() const {
  std::vector<std::string> names;
  for (const Entry& e : entries())
    if (e.kind == Entry::Kind::module) names.push_back(e.name);
  return names;
}

Ref<Module> ModuleDict::at(std::string_view key) const {
  const Entry* e = child(entries(), key);
  require<IndexError>(e, "no such module: '{}'", key);
  return e->module;
}

void ModuleDict::set(const std::string& key, Ref<Module> module) {
  if (contains(key)) put({key, Entry::Kind::module, true, {}, std::move(module)});
  else register_module(key, std::move(module));
}

void ModuleDict::update(NamedModules modules) {
  for (auto& [name, m] : modules) set(name, std::move(m));
}

Ref<Module> ModuleDict::pop(std::string_view key) {
  Ref<Module> taken = at(key);
  erase(key);
  return taken;
}

}  // namespace pyburn::nn
