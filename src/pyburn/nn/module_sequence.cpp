#include "pyburn/nn/module_sequence.h"

#include <algorithm>

#include "pyburn/support/error.h"

namespace pyburn::nn {

ModuleSequence::ModuleSequence(std::initializer_list<Ref<Module>> modules) {
  for (const Ref<Module>& m : modules) append(m);
}
ModuleSequence::ModuleSequence(NamedModules modules) {
  for (auto& [name, m] : modules) register_module(name, std::move(m));
}

int64_t ModuleSequence::size() const {
  return std::count_if(entries().begin(), entries().end(), [](const Entry& e) { return e.kind == Entry::Kind::module; });
}

std::vector<Ref<Module>> ModuleSequence::modules() const {
  std::vector<Ref<Module>> list;
  for (const Entry& e : entries())
    if (e.kind == Entry::Kind::module) list.push_back(e.module);
  return list;
}

size_t ModuleSequence::entry_of(int64_t index) const {
  const int64_t n = size();
  require<IndexError>(index >= -n && index < n, "index {} is out of range", index);
  int64_t left = index < 0 ? index + n : index;
  for (size_t i = 0;; ++i)
    if (entries()[i].kind == Entry::Kind::module && left-- == 0) return i;
}

Ref<Module> ModuleSequence::at(int64_t index) const { return entries()[entry_of(index)].module; }

void ModuleSequence::set(int64_t index, Ref<Module> module) {
  Entry e = entries()[entry_of(index)];
  e.module = std::move(module);
  put(std::move(e));
}

void ModuleSequence::append(Ref<Module> module) { register_module(pyburn::to_text(size()), std::move(module)); }

void ModuleSequence::extend(const std::vector<Ref<Module>>& modules) {
  for (const Ref<Module>& m : modules) append(m);
}

void ModuleSequence::insert(int64_t index, Ref<Module> module) {
  const int64_t n = size();
  require<IndexError>(index >= -n && index <= n, "Index out of range: {}", index);
  std::vector<Ref<Module>> list = modules();
  list.insert(list.begin() + (index < 0 ? index + n : index), std::move(module));
  set_modules(std::move(list));
}

Ref<Module> ModuleSequence::pop(int64_t index) {
  Ref<Module> taken = at(index);
  std::vector<Ref<Module>> list = modules();
  list.erase(list.begin() + (index < 0 ? index + size() : index));
  set_modules(std::move(list));
  return taken;
}

void ModuleSequence::set_modules(std::vector<Ref<Module>> modules) {
  NamedModules named;
  for (Ref<Module>& m : modules) named.emplace_back(pyburn::to_text(int64_t(named.size())), std::move(m));
  set_children(std::move(named));
}

}  // namespace pyburn::nn
