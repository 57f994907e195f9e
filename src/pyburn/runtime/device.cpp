#include "pyburn/runtime/device.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "pyburn/support/error.h"

namespace pyburn {
namespace {

struct Registry {
  std::recursive_mutex mutex;
  std::vector<BackendEntry> entries;
  std::map<std::string, Device*, std::less<>> by_name;        // what users typed, lower case
  std::map<const Backend*, Device*> by_backend;
  std::map<std::string, Ref<Backend>, std::less<>> leaves;    // one object per leaf text: "ndarray", "wgpu:1"
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

const BackendEntry& entry(const std::string& head) {
  for (const BackendEntry& e : registry().entries)
    if (e.name == head || std::find(e.aliases.begin(), e.aliases.end(), head) != e.aliases.end()) return e;
  std::string known;
  for (const BackendEntry& e : registry().entries) known += (known.empty() ? "" : ", ") + e.name;
  fail<DeviceError>("[device] unknown device: got '{}', known are {}", head, known);
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
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const Parsed p = parse(name);
  const BackendEntry e = entry(p.head);  // a copy: factories may register
  if (e.unavailable)
    if (const std::string why = e.unavailable(); !why.empty()) fail<DeviceError>("[device] {} is not available here: {}", e.name, why);
  if (!e.decorator) {
    const std::string key = p.body.empty() || p.body == "0" ? e.name : e.name + ":" + std::string(p.body);
    Ref<Backend>& leaf = r.leaves[key];
    if (!leaf) leaf = e.make({}, p.body);
    return leaf;
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

Device& device_of(const Ref<Backend>& backend) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  Device*& d = r.by_backend[backend.get()];
  if (!d) d = new Device(backend);
  return *d;
}

Device& device(std::string_view name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const std::string key = lower(trim(name));
  if (const auto it = r.by_name.find(key); it != r.by_name.end()) return *it->second;
  const Parsed p = parse(name);
  Device* d;
  if (p.head == "inner" && p.parenthesised) {
    d = &device_of(make_backend(p.body));
  } else {
    const bool bare = entry(p.head).name == "autodiff";
    const std::string text = bare ? std::string(name) : "autodiff(" + std::string(name) + ")";
    Ref<Backend> backend = make_backend(text);
    // One Device per stack: "cpu", "ndarray:0" and "autodiff(CPU)" are the same.
    const std::string canonical = lower(backend->name());
    if (const auto it = r.by_name.find(canonical); it != r.by_name.end()) d = it->second;
    else r.by_name[canonical] = d = &device_of(backend);
  }
  return *(r.by_name[key] = d);
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
std::vector<BackendEntry> backend_entries() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.entries;
}

}  // namespace pyburn
