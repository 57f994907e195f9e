#include "pyburn/runtime/device.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/device_name.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/support/registration.h"

namespace pyburn {
namespace {

// What makes a backend what it is. Inner backends are themselves unique, so their addresses say all.
struct StackKey {
  std::string name, options, address;
  std::vector<const Backend*> inner;
  auto operator<=>(const StackKey&) const = default;
};
struct Known {
  std::string name;
  int depth = 1;
};

// The mutex guards the tables alone: factories and discovery are foreign code (Python, for one) and run without it.
// Devices, and with them their backends, live as long as the process. Only what was made for a name that failed is released.
struct Registry {
  ForkSafeMutex mutex;
  std::vector<BackendEntry> entries;
  std::map<std::string, Device*, std::less<>> by_text;  // what users typed, for speed
  std::map<const Backend*, Device*> by_backend;
  std::map<StackKey, Ref<Backend>> stacks;
  std::map<const Backend*, Known> known;
  std::vector<Ref<Backend>> replaced;
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

constexpr size_t kRememberedTexts = 256;

std::atomic<const char* (*)()> best_backend{nullptr};
std::string best_name() {
  auto* name = best_backend.load();
  return name ? name() : "ndarray";
}

std::atomic<void (*)()> discovery{nullptr};
void discover() {
  if (auto* more = discovery.load()) more();
}

bool has_name(const BackendEntry& e, std::string_view name) {
  return e.name == name || std::find(e.aliases.begin(), e.aliases.end(), name) != e.aliases.end();
}

std::string reason_against(const BackendEntry& e) { return e.unavailable ? e.unavailable() : std::string(); }

std::optional<BackendEntry> find_entry(std::string_view name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const BackendEntry* found = nullptr;
  for (const BackendEntry& e : r.entries)
    if (e.name == name || (!found && has_name(e, name))) found = &e;
  return found ? std::optional(*found) : std::nullopt;
}

// Devices of PyTorch that are reached in another way here.
constexpr std::string_view kOfPytorch[] = {"cuda", "hip", "hpu", "mps", "mtia", "npu", "rocm", "tpu", "vulkan", "xla", "xpu"};
bool is_of_pytorch(std::string_view name) { return std::find(std::begin(kOfPytorch), std::end(kOfPytorch), name) != std::end(kOfPytorch); }

// The text that a name was parsed from, for errors that point into it.
struct Source {
  std::string_view text;
  [[noreturn]] void refuse(const DeviceName& d, const std::string& message) const {
    if (to_text(d).size() >= text.size()) throw DeviceError("[device] " + message);  // all of it: nothing to point at
    throw DeviceError(pointed_at(message, text, d.position));
  }
};

[[noreturn]] void refuse_unknown(const DeviceName& d, const Source& source) {
  if (is_of_pytorch(d.name)) {
    const std::string there = (d.name == "rocm" || d.name == "hip" ? "cuda" : d.name) + (d.options.empty() ? "" : ":" + d.options);
    source.refuse(d, format("'{}' is a device of PyTorch: use 'torch:{}', which requires PyTorch (pip install torch)", to_text(d), there));
  }
  std::string known;
  for (const BackendEntry& e : backend_entries()) known += (known.empty() ? "" : ", ") + e.name;
  source.refuse(d, format("unknown device: got '{}', expected one of {}", d.name, known));
}

// Other packages are asked before a name is called unknown or not available.
BackendEntry usable_entry(const DeviceName& d, const Source& source) {
  std::optional<BackendEntry> e = find_entry(d.name);
  std::string why = e ? reason_against(*e) : "";
  if (!e || !why.empty()) {
    discover();
    e = find_entry(d.name);
    if (!e) refuse_unknown(d, source);
    why = reason_against(*e);
  }
  if (!why.empty()) source.refuse(d, format("{} is not available here: {}", e->name, why));
  return *e;
}

// What the table holds under a key, or what make() gives; the first one stays when two threads make it.
template <class Table, class Make>
auto found_or_made(Table Registry::*table, const auto& key, Make make) {
  Registry& r = registry();
  {
    std::lock_guard lock(r.mutex);
    if (const auto it = (r.*table).find(key); it != (r.*table).end()) return it->second;
  }
  auto made = make();
  std::lock_guard lock(r.mutex);
  return (r.*table).try_emplace(key, std::move(made)).first->second;
}

Known known(const Backend& backend) {
  Registry& r = registry();
  {
    std::lock_guard lock(r.mutex);
    if (const auto it = r.known.find(&backend); it != r.known.end()) return it->second;
  }
  Known k{backend.name()};
  for (const Backend* b = backend.inner(); b; b = b->inner()) ++k.depth;
  return k;
}

// The backends that are made for one name. If the name turns out to lead nowhere they are released, so that names that fail do not fill
// the tables.
class Construction {
 public:
  Construction() = default;
  Construction(const Construction&) = delete;
  ~Construction() {
    Registry& r = registry();
    for (auto entry = made_.rbegin(); entry != made_.rend(); ++entry) {  // outer ones hold inner ones
      Ref<Backend> released;                                             // after the lock: the end of a backend may be foreign code
      std::lock_guard lock(r.mutex);
      const auto it = r.stacks.find(entry->key);
      if (it == r.stacks.end() || (!entry->alias && it->second->use_count() > 1)) continue;  // another thread may have found it
      if (!entry->alias) r.known.erase(it->second.get());
      released = std::move(it->second);
      r.stacks.erase(it);
    }
  }
  template <class Make>
  Ref<Backend> found_or_made(const StackKey& key, Known k, Make make) {
    bool fresh = false;
    Ref<Backend> backend = pyburn::found_or_made(&Registry::stacks, key, [&] { return fresh = true, make(); });
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    const bool named = r.known.try_emplace(backend.get(), std::move(k)).second;
    if (fresh) made_.push_back({key, !named});
    return backend;
  }
  Ref<Backend> finish(Ref<Backend> backend) {
    made_.clear();
    return backend;
  }

 private:
  struct Entry {
    StackKey key;
    bool alias;  // a factory may give one object for several texts: the first one names it
  };
  std::vector<Entry> made_;
};

// The one backend of an entry with these options, this address and these inner backends.
Ref<Backend> unique_backend(const BackendEntry& e, const std::string& options, const std::string& address,
    std::span<const Ref<Backend>> inner, Construction& construction) {
  StackKey key{e.name, options, address, {}};
  Known k{e.name + (options.empty() ? "" : ":" + quoted_where_needed(options))};
  std::string inside = address.empty() ? "" : address_text(address);
  for (const Ref<Backend>& b : inner) {
    const Known below = known(*b);
    key.inner.push_back(b.get());
    inside += (inside.empty() ? "" : ", ") + below.name;
    k.depth = std::max(k.depth, below.depth + 1);
  }
  if (e.decorator) k.name += "(" + inside + ")";
  require<DeviceError>(k.depth <= kDeepestDevice, "[device] at most {} backends can be nested: got {}", kDeepestDevice, k.depth);
  require<DeviceError>(k.name.size() <= kLongestDeviceName, "[device] the name of a device must have at most {} bytes: got {}",
      kLongestDeviceName, k.name.size());
  return construction.found_or_made(key, std::move(k), [&] { return e.make(inner, address.empty() ? options : address); });
}

Ref<Backend> build(const DeviceName& d, const Source& source, Construction& construction) {
  const BackendEntry e = d.name == "best" && !find_entry("best") ? *find_entry(best_name()) : usable_entry(d, source);
  if (!e.decorator) {
    if (d.parenthesised)
      source.refuse(
          d, format("{} takes no arguments in parentheses: write options after a colon, in quotes if they contain parentheses", e.name));
    return unique_backend(e, d.options == "0" ? "" : d.options, "", {}, construction);  // the first one is the usual one
  }
  if (!d.parenthesised) source.refuse(d, format("{} wraps a backend: write {}(ndarray)", e.name, e.name));
  std::vector<Ref<Backend>> inner;
  std::string address;
  for (const DeviceName& a : d.arguments) {
    if (!a.is_address()) inner.push_back(build(a, source, construction));
    else if (address.empty() && d.options.empty()) address = a.options;
    else source.refuse(a, format("{} takes one address, or options", e.name));
  }
  return unique_backend(e, d.options, address, inner, construction);
}
Ref<Backend> build(const DeviceName& d, const Source& source) {
  Construction construction;
  return construction.finish(build(d, source, construction));
}

Device& device_of_name(std::string_view text) {
  const DeviceName d = parse_device_name(text);
  const Source source{text};
  if (d.name == "inner" && d.parenthesised) {
    if (d.arguments.size() != 1 || d.arguments[0].is_address()) source.refuse(d, "inner takes one device: write inner(ndarray)");
    return device_of(build(d.arguments[0], source));
  }
  Construction construction;
  Ref<Backend> backend = build(d, source, construction);
  if (d.name != "autodiff") backend = unique_backend(*find_entry("autodiff"), "", "", {&backend, 1}, construction);
  return device_of(construction.finish(std::move(backend)));
}

thread_local Device* scoped_device = nullptr;
std::atomic<Device*> process_default{nullptr};

Device& initial_device() {
  const char* name = std::getenv("PYBURN_DEVICE");
  if (!name || !*name) return best_device();
  try {
    return device(name);
  } catch (const Error& e) {
    fail<DeviceError>("[PYBURN_DEVICE] the device of the environment variable is not available: got '{}'. {}",
        is_backend_name(name) || std::string_view(name).size() < 100 ? name : "a long text", e.what());
  }
}

// A notebook may replace what it has registered before; a plugin that takes a name away from another one is a mistake.
void require_free_names(const BackendEntry& e) {
  std::vector<std::string> names = e.aliases;
  names.push_back(e.name);
  for (const std::string& name : names) {
    const std::optional<BackendEntry> old = find_entry(name);
    require<ValueError>(!old || !reason_against(*old).empty(), "[register] a backend with the name '{}' already exists", name);
  }
}

// Backends that entries of these names have made are forgotten: the next ones are made by the new factories.
void change_entries(const std::vector<std::string>& without, std::vector<BackendEntry> with) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto goes = [&](const std::string& name) { return std::find(without.begin(), without.end(), name) != without.end(); };
  std::erase_if(r.entries, [&](const BackendEntry& e) { return goes(e.name); });
  for (auto it = r.stacks.begin(); it != r.stacks.end();) {
    if (!goes(it->first.name)) {
      ++it;
      continue;
    }
    r.replaced.push_back(it->second);
    it = r.stacks.erase(it);
  }
  r.by_text.clear();
  for (BackendEntry& e : with) r.entries.push_back(std::move(e));
}

std::string leaf_name(const Device& d) { return stack_name(d.leaf()); }

}  // namespace

Device::Device(Ref<Backend> backend) : backend_(std::move(backend)), leaf_(backend_.get()), name_(stack_name(*backend_)) {
  while (leaf_->inner()) leaf_ = leaf_->inner();
}

std::string to_text(const Device& d) { return d.name(); }

std::string stack_name(const Backend& backend) { return known(backend).name; }
size_t known_backends() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.stacks.size();
}
bool has_values(const Device& d) { return d.backend().capabilities().values; }

std::string typed_name_of(const Device& d) {
  if (d.name() == "autodiff(meta)") return "meta";
  return d.name().starts_with("autodiff(") ? d.name() : "inner(" + d.name() + ")";
}

std::string type_of(const Device& d) {
  std::string name = leaf_name(d);
  name.resize(std::min(name.size(), name.find_first_of(":(")));
  return name == "ndarray" ? "cpu" : name;
}

std::optional<int64_t> index_of(const Device& d) {
  const std::string name = leaf_name(d);
  const size_t colon = name.rfind(':');
  const std::string digits = colon == name.npos ? "" : name.substr(colon + 1);
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != digits.npos) return {};
  return std::atoll(digits.c_str());
}

bool begins_as_device(std::string_view text) {
  std::string name(text.substr(0, std::min(text.size(), text.find_first_of(":( "))));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : c; });
  return is_of_pytorch(name) || find_entry(name);
}

void require_no_options(std::string_view name, std::string_view options) {
  require<DeviceError>(options.empty(), "[device] {} takes no options: got '{}'", name, options);
}

bool is_plain(std::string_view name, std::string_view options) {
  if (!options.empty() && options.find_first_not_of("0123456789") == options.npos) return false;
  require_no_options(name, options);
  return true;
}

Ref<Backend> make_backend(std::string_view name) { return build(parse_device_name(name), {name}); }

Ref<Backend> decorate(std::string_view name, std::span<const Ref<Backend>> inner) {
  const DeviceName d = parse_device_name(name);
  const BackendEntry e = usable_entry(d, {name});
  require<DeviceError>(e.decorator && !d.parenthesised, "[device] expected a decorator: got '{}'", e.name);
  Construction construction;
  return construction.finish(unique_backend(e, d.options, "", inner, construction));
}

Device& device_of(const Ref<Backend>& backend) {
  return *found_or_made(&Registry::by_backend, static_cast<const Backend*>(backend.get()), [&] { return new Device(backend); });
}

Device& device(std::string_view name) {
  Registry& r = registry();
  {
    std::lock_guard lock(r.mutex);
    if (const auto it = r.by_text.find(name); it != r.by_text.end()) return *it->second;
  }
  Device& d = device_of_name(name);
  std::lock_guard lock(r.mutex);
  if (r.by_text.size() < kRememberedTexts) r.by_text.try_emplace(std::string(name), &d);
  return d;
}

Device& default_device() {
  if (scoped_device) return *scoped_device;
  Device* d = process_default.load(std::memory_order_acquire);
  if (!d) process_default = d = &initial_device();
  return *d;
}
void set_default_device(Device& d) { process_default = &d; }
void set_best_backend(const char* (*name)()) { best_backend = name; }
void reset_default_device() { process_default = nullptr; }
Device& best_device() { return device("best"); }

DeviceScope::DeviceScope(Device& d) : previous_(scoped_device) { scoped_device = &d; }
DeviceScope::~DeviceScope() { scoped_device = previous_; }

// A name that leads nowhere yet hands its names over to the first one that can be used.
void register_backend(BackendEntry e) {
  for (const std::string& name : e.aliases)
    require<ValueError>(is_backend_name(name), "[register] expected letters, digits, '_', '-' and '.': got '{}'", name);
  require<ValueError>(is_backend_name(e.name), "[register] expected letters, digits, '_', '-' and '.': got '{}'", e.name);
  if (in_registration_scope()) require_free_names(e);
  Registry& r = registry();
  std::vector<BackendEntry> before;
  {
    std::lock_guard lock(r.mutex);
    before = r.entries;
  }
  std::vector<BackendEntry> gone;
  for (const BackendEntry& old : before) {
    const auto meets = [&](const std::string& name) { return has_name(old, name); };
    if (old.name == e.name) gone.push_back(old);
    if (!meets(e.name) && std::none_of(e.aliases.begin(), e.aliases.end(), meets)) continue;
    if (reason_against(old).empty() || !reason_against(e).empty()) continue;
    if (old.name != e.name) gone.push_back(old);
    std::vector<std::string> names = old.aliases;
    names.push_back(old.name);
    for (const std::string& name : names)
      if (!has_name(e, name)) e.aliases.push_back(name);
  }
  undo_registration_by([name = e.name, gone] { change_entries({name}, gone); });
  std::vector<std::string> names{e.name};
  for (const BackendEntry& old : gone) names.push_back(old.name);
  change_entries(names, {std::move(e)});
}
void set_backend_discovery(void (*more)()) { discovery = more; }
std::vector<BackendEntry> backend_entries() {
  discover();
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.entries;
}

}  // namespace pyburn
