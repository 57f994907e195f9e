#include "pyburn/nn/sequential.h"

#include <algorithm>

#include "pyburn/support/error.h"

namespace pyburn::nn {

Sequential::Sequential(std::initializer_list<Ref<Module>> modules) {
  for (const Ref<Module>& m : modules) append(m);
}
Sequential::Sequential(NamedModules modules) {
  for (auto& [name, m] : modules) register_module(name, std::move(m));
}

void Sequential::append(Ref<Module> module) { register_module(pyburn::to_text(size()), std::move(module)); }

int64_t Sequential::size() const {
  return std::count_if(entries().begin(), entries().end(), [](const Entry& e) { return bool(e.module); });
}

Ref<Module> Sequential::at(int64_t index) const {
  const int64_t n = size();
  require<IndexError>(index >= -n && index < n, "index {} is out of range", index);
  int64_t left = index < 0 ? index + n : index;
  for (const Entry& e : entries())
    if (e.module && left-- == 0) return e.module;
  return {};
}

TensorHandle Sequential::forward(const TensorHandle& x) {
  TensorHandle y = x;
  // By index: a module that changes the list while it runs must not leave the walk on freed memory.
  for (size_t i = 0; i < entries().size(); ++i)
    if (const Ref<Module> m = entries()[i].module) y = m->call(y);
  return y;
}

}  // namespace pyburn::nn
