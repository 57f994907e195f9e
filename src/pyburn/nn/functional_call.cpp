#include "pyburn/nn/functional_call.h"

#include <map>

#include "pyburn/support/error.h"

namespace pyburn::nn {

ReplacedTensors::ReplacedTensors(Module& module, const NamedTensors& tensors, FunctionalCallOptions options) {
  struct Place {
    Ref<Module> owner;
    Entry entry;
  };
  std::map<std::string, Place> places;
  for (const auto& [path, m] : module.named_modules("", false))
    for (const Entry& e : m->entries())
      if (e.kind != Entry::Kind::module && e.tensor.defined()) places.emplace(path.empty() ? e.name : path + "." + e.name, Place{m, e});

  std::map<std::string, TensorHandle> wanted;
  for (const auto& [name, tensor] : tensors) {
    const auto place = places.find(name);
    require<ValueError>(place != places.end(), "{} has no parameter or buffer '{}' to replace", module.display_name(), name);
    require<ValueError>(tensor.defined(), "expected a tensor for '{}'", name);
    const auto [it, fresh] = wanted.emplace(name, tensor);
    require<ValueError>(fresh, "'{}' was given twice", name);
    if (!options.tie_weights) continue;
    for (const auto& [other, same] : places)
      if (other != name && same.entry.tensor.is_same(place->second.entry.tensor)) {
        const auto [tied, is_first] = wanted.emplace(other, tensor);
        require<ValueError>(
            is_first || tied->second.is_same(tensor), "'{}' and '{}' are the same tensor and need the same value", name, other);
      }
  }
  if (options.strict)
    for (const auto& [name, place] : places) require<ValueError>(wanted.contains(name), "Missing key: '{}' was not given", name);
  for (const auto& [name, tensor] : wanted) {
    const auto& [owner, entry] = places.at(name);
    before_.emplace_back(owner, entry);
    // As a buffer: any tensor may be one, and a result of operations keeps its history.
    owner->put({entry.name, Entry::Kind::buffer, entry.persistent, tensor, {}});
  }
}

ReplacedTensors::~ReplacedTensors() {
  for (const auto& [owner, entry] : before_) owner->put(entry);
}

}  // namespace pyburn::nn
