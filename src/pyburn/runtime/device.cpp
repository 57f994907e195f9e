#include "pyburn/runtime/device.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <optional>

#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// The mutex guards the tables alone: factories and discovery are foreign code (Python, for one) and run without it.
struct Registry {
  std::mutex mutex;
  std::vector<BackendEntry> entries;
  std::map<std::string, Device*, std::less<>> by_name;  // what users typed, lower case
  std::map<const Backend*, Device*> by_backend;
  std::map<std::string, Ref<Backend>, std::less<>> leaves;  // one object per leaf text: "ndarray", "wgpu:1"
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

std::string lower(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return out;
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// "fusion(wgpu:0)" -> head "fusion", body "wgpu:0"; "wgpu:0" -> head "wgpu", body "0".
struct Parsed {
  std::string head;
  std::string_view body;
  bool parenthesised = false;
};
Parsed parse(std::string_view text) {
  text = trim(text);
  const size_t open = text.find_first_of("(:");
  if (open == text.npos) return {lower(text), {}, false};
  if (text[open] == ':') return {lower(text.substr(0, open)), text.substr(open + 1), false};
  require<DeviceError>(text.back() == ')', "[device] unbalanced parentheses: got '{}'", text);
  return {lower(trim(text.substr(0, open))), text.substr(open + 1, text.size() - open - 2), true};
}

std::vector<std::string_view> split_arguments(std::string_view body) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= body.size(); ++i) {
    if (i < body.size() && body[i] == '(') ++depth;
    if (i < body.size() && body[i] == ')') --depth;
    if (i == body.size() || (body[i] == ',' && depth == 0)) {
      if (i > start) parts.push_back(trim(body.substr(start, i - start)));
      start = i + 1;
    }
  }
  return parts;
}

std::atomic<void (*)()> discovery{nullptr};
void discover() {
  if (auto* more = discovery.load()) more();
}

std::optional<BackendEntry> find_entry(const std::string& head) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  for (const BackendEntry& e : r.entries)
    if (e.name == head || std::find(e.aliases.begin(), e.aliases.end(), head) != e.aliases.end()) return e;
  return {};
}

BackendEntry entry(const std::string& head) {
  if (std::optional<BackendEntry> e = find_entry(head)) return *e;
  discover();
  if (std::optional<BackendEntry> e = find_entry(head)) return *e;
  std::string known;
  for (const BackendEntry& e : backend_entries()) known += (known.empty() ? "" : ", ") + e.name;
  fail<DeviceError>("[device] unknown device: got '{}', known are {}", head, known);
}

BackendEntry available_entry(const std::string& head) {
  BackendEntry e = entry(head);
  if (e.unavailable)
    if (const std::string why = e.unavailable(); !why.empty()) fail<DeviceError>("[device] {} is not available here: {}", e.name, why);
  return e;
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

thread_local Device* scoped_device = nullptr;
std::atomic<Device*> process_default{nullptr};

}  // namespace

Device::Device(Ref<Backend> backend) : backend_(std::move(backend)), leaf_(backend_.get()), name_(backend_->name()) {
  while (leaf_->inner()) leaf_ = leaf_->inner();
}

bool Device::is_cpu() const {
  const Backend* maker = backend_.get();
  while (!maker->owns_storage() && maker->inner()) maker = maker->inner();
  return maker->name() == "ndarray";
}
std::string to_text(const Device& d) { return d.name(); }

Ref<Backend> make_backend(std::string_view name) {
  const Parsed p = parse(name);
  const BackendEntry e = available_entry(p.head);
  if (!e.decorator) {
    const std::string key = p.body.empty() || p.body == "0" ? e.name : e.name + ":" + std::string(p.body);
    return found_or_made(&Registry::leaves, key, [&] { return e.make({}, p.body); });
  }
  std::vector<Ref<Backend>> inner;
  std::string_view text;
  for (std::string_view part : split_arguments(p.body)) {
    if (part.find("://") != part.npos) text = part;  // an address, not a backend
    else inner.push_back(make_backend(part));
  }
  require<DeviceError>(!inner.empty() || !text.empty(), "[device] {} decorates a backend: write {}(ndarray)", e.name, e.name);
  return e.make(inner, text);
}

Ref<Backend> decorate(std::string_view name, std::span<const Ref<Backend>> inner) {
  const BackendEntry e = available_entry(lower(trim(name)));
  require<DeviceError>(e.decorator, "[device] expected a decorator: got '{}'", e.name);
  return e.make(inner, {});
}

Device& device_of(const Ref<Backend>& backend) {
  return *found_or_made(&Registry::by_backend, static_cast<const Backend*>(backend.get()), [&] { return new Device(backend); });
}

Device& device(std::string_view name) {
  return *found_or_made(&Registry::by_name, lower(trim(name)), [&]() -> Device* {
    const Parsed p = parse(name);
    if (p.head == "inner" && p.parenthesised) return &device_of(make_backend(p.body));
    const bool bare = entry(p.head).name == "autodiff";
    const Ref<Backend> backend = make_backend(bare ? std::string(name) : "autodiff(" + std::string(name) + ")");
    // One Device per stack: "cpu", "ndarray:0" and "autodiff(CPU)" are the same.
    return found_or_made(&Registry::by_name, lower(backend->name()), [&] { return &device_of(backend); });
  });
}

Device& default_device() {
  if (scoped_device) return *scoped_device;
  Device* d = process_default.load(std::memory_order_acquire);
  if (!d) process_default = d = &best_device();
  return *d;
}
void set_default_device(Device& d) { process_default = &d; }
Device& best_device() { return device("ndarray"); }

DeviceScope::DeviceScope(Device& d) : previous_(scoped_device) { scoped_device = &d; }
DeviceScope::~DeviceScope() { scoped_device = previous_; }

void register_backend(BackendEntry e) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::erase_if(r.entries, [&](const BackendEntry& old) { return old.name == e.name; });
  r.entries.push_back(std::move(e));
}
void set_backend_discovery(void (*more)()) { discovery = more; }
std::vector<BackendEntry> backend_entries() {
  discover();
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.entries;
}

}  // namespace pyburn
