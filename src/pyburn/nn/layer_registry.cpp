#include "pyburn/nn/layer_registry.h"

#include <algorithm>

#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/support/registration.h"

namespace pyburn::nn {
namespace {

struct Registry {
  ForkSafeMutex mutex;
  LayerEntries entries;
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

}  // namespace

// Names need not be unique: the host keeps the layers of different plugins apart.
void register_layer(LayerEntry e) {
  require<ValueError>(
      !e.name.empty() && e.make && e.make_unfilled && e.is_instance && e.forward && e.config, "[register_layer] the entry is incomplete");
  auto entry = std::make_shared<const LayerEntry>(std::move(e));
  undo_registration_by([entry] {
    std::lock_guard lock(registry().mutex);
    std::erase(registry().entries, entry);
  });
  std::lock_guard lock(registry().mutex);
  registry().entries.push_back(std::move(entry));
}

LayerEntries layer_entries() {
  std::lock_guard lock(registry().mutex);
  return registry().entries;
}

}  // namespace pyburn::nn
