// Device: a named stack of backends, such as autodiff(fusion(ndarray)). Interned; lives until the process ends.
#pragma once
#include <functional>
#include <vector>

#include "pyburn/runtime/backend.h"

namespace pyburn {

class Device {
 public:
  explicit Device(Ref<Backend> backend);
  Backend& backend() const { return *backend_; }
  const std::string& name() const { return name_; }  // the whole stack
  Backend& leaf() const { return *leaf_; }

 private:
  Ref<Backend> backend_;
  Backend* leaf_;
  std::string name_;
};
std::string to_text(const Device&);

// "ndarray", "CPU", "fusion(cpu)", "remote(...)", in any case. Autodiff is added as the outermost part unless the name says "inner(...)".
// DeviceError lists the available devices.
Device& device(std::string_view name);
// The device of a stack that was assembled from objects. The same backend object gives the same Device.
Device& device_of(const Ref<Backend>& backend);

Device& default_device();
void set_default_device(Device&);  // for the process
class DeviceScope {                // for this thread and scope
 public:
  explicit DeviceScope(Device&);
  ~DeviceScope();

 private:
  Device* previous_;
};

// Registration. A factory receives the arguments in parentheses: inner backends for a decorator, text for a leaf.
struct BackendEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string doc;
  bool decorator = false;
  std::function<Ref<Backend>(std::span<const Ref<Backend>> inner, std::string_view text)> make;
  std::function<std::string()> unavailable;  // why it is unavailable; empty if it is available
};
void register_backend(BackendEntry);  // replaces an entry with the same name
std::vector<BackendEntry> backend_entries();
Ref<Backend> make_backend(std::string_view name);  // as written: no autodiff is added
Ref<Backend> decorate(std::string_view name, std::span<const Ref<Backend>> inner);
// Called before a name is reported as unknown and before the entries are listed: registers the backends of other packages.
void set_backend_discovery(void (*discover)());
Device& best_device();  // the initial default device

}  // namespace pyburn
