#include "pyburn/decorators/remote/transport.h"

#include <algorithm>
#include <optional>

#include "pyburn/runtime/device.h"
#include "pyburn/runtime/device_name.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/support/registration.h"

namespace pyburn::remote {
namespace {

struct Registry {
  ForkSafeMutex mutex;
  std::vector<Transport> transports;
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

auto of_scheme(std::string_view scheme) {
  return [scheme = std::string(scheme)](const Transport& t) { return t.scheme == scheme; };
}

std::optional<Transport> find(const std::string& scheme) {
  for (const Transport& t : transports())
    if (t.scheme == scheme) return t;
  return {};
}

}  // namespace

void register_transport(Transport t) {
  require<ValueError>(
      is_backend_name(t.scheme), "[register_transport] expected a scheme of letters, digits, '_', '-' and '.': got '{}'", t.scheme);
  require<ValueError>(bool(t.connect), "[register_transport] expected a connect function for '{}': got none", t.scheme);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  require<ValueError>(std::none_of(r.transports.begin(), r.transports.end(), of_scheme(t.scheme)),
      "[register_transport] a transport with the scheme '{}' already exists", t.scheme);
  undo_registration_by([scheme = t.scheme] {
    std::lock_guard again(registry().mutex);
    std::erase_if(registry().transports, of_scheme(scheme));
  });
  r.transports.push_back(std::move(t));
}

std::vector<Transport> transports() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.transports;
}

// Other packages are asked before a scheme is called unknown.
std::unique_ptr<Channel> connect(const std::string& address) {
  std::string scheme = address.substr(0, address.find("://"));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : c; });
  if (const std::optional<Transport> t = find(scheme)) return t->connect(address);
  std::string why;
  for (const BackendEntry& e : backend_entries())  // a package that cannot be loaded leaves its reason there
    if (e.name == scheme && e.unavailable) why = ". Its package says: " + e.unavailable();
  if (const std::optional<Transport> t = find(scheme)) return t->connect(address);
  std::string schemes;
  for (const Transport& t : transports()) schemes += ", " + t.scheme + "://";
  fail<DeviceError>(
      "[device] remote has no transport for '{}': got {}, known are a backend in this process{}{}", scheme, address, schemes, why);
}

}  // namespace pyburn::remote
