// Random and damaged names of devices: a name is parsed, printed and parsed again as the same, or raises a DeviceError; names that fail
// leave nothing behind.
#include <algorithm>

#include "harness/target.h"
#include "pyburn/backends/null/null_backend.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/device_name.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Names that users type, and such as come near the limits.
std::vector<std::string> good_names() {
  std::string deep = "cpu", wide = "router(cpu";
  for (int i = 2; i < kDeepestDevice; ++i) deep = "fusion(" + deep + ")";
  while (wide.size() + 7 < kLongestDeviceName) wide += ", cpu";
  return {"cpu", "CPU:0", "ndarray:3", "meta", "fusion(cpu)", "Autodiff(Fusion( ndarray ))", "inner(cpu)",
      "inner(router(cpu, fusion(cpu)))", "router(cpu, meta)", "leaf:1", "leaf:/A path", "leaf:\"a (b), \\\"c\\\" \\\\ \"",
      "named(ws://host:1/a?b=c)", "named(\"ws://h/(x)\")", "option:k=v(cpu)", "wgpu:1", "torch:cuda:0", "cuda:0", "refused(fusion(cpu))",
      "router(leaf:7, refused(leaf:8))", deep, wide + ")"};
}

std::string random_text(fuzz::Random& random) {
  static constexpr std::string_view kPieces[] = {"cpu", "Fusion", "router", "leaf", "named", "option", "refused", "inner", "autodiff", "(",
      ")", ", ", ":", "\"", "\\", "://", " ", "\xff", "\xc3\xa9", "\n", "\t", "0", "a", "", "-", "."};
  std::string text;
  for (uint64_t n = random.below(12); n > 0; --n) text += random.any_of(kPieces);
  return text;
}

void change(std::string& t, fuzz::Random& r, const std::vector<Bytes>& names) {
  const size_t at = r.below(t.size() + 1), count = std::min<size_t>(t.size() - at, r.below(40));
  switch (r.below(8)) {
    case 0:  // a byte
      if (at < t.size()) t[at] = char(r.byte());
      return;
    case 1:
      t.insert(at, 1, "():,\"\\ \n"[r.below(8)]);
      return;
    case 2:
      t.erase(at, count);
      return;
    case 3:  // repeat, up to many times
      for (uint64_t n = r.one_in(8) ? r.below(400) : 1; n > 0 && t.size() < 2 * kLongestDeviceName; --n) t.insert(at, t.substr(at, count));
      return;
    case 4: {  // a piece of another name
      const Bytes& other = r.any_of(names);
      t.insert(at, reinterpret_cast<const char*>(other.data()), std::min<size_t>(other.size(), r.below(60)));
      return;
    }
    case 5:  // one more backend, or many
      for (uint64_t n = r.one_in(8) ? r.below(60) : 1; n > 0; --n) t = "fusion(" + t + ")";
      return;
    case 6:
      t = "router(leaf:" + std::to_string(r.below(1000)) + ", " + t + ")";
      return;
    default:
      t = t.substr(0, at);
  }
}

Bytes bytes_of_text(std::string_view text) {
  const BytesView bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void mutate(Bytes& input, fuzz::Random& random, const std::vector<Bytes>& names) {
  std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  if (random.one_in(4)) text = random_text(random);
  for (uint64_t n = random.below(4); n > 0; --n) change(text, random, names);
  input = bytes_of_text(text);
}

bool equal(const DeviceName& a, const DeviceName& b) {
  return a.name == b.name && a.options == b.options && a.parenthesised == b.parenthesised &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(), equal);
}
bool has_name(const DeviceName& d, std::string_view name) {
  return d.name == name || std::any_of(d.arguments.begin(), d.arguments.end(), [&](const DeviceName& a) { return has_name(a, name); });
}

fuzz::Outcome run(BytesView input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  DeviceName name;
  try {
    name = parse_device_name(text);
  } catch (const DeviceError&) {
    return fuzz::Outcome::refused;
  }
  const std::string printed = to_text(name);
  if (printed.size() <= kLongestDeviceName) {  // blanks after commas may make it longer than what was typed
    require<ValueError>(equal(parse_device_name(printed), name), "it reads back as another name: '{}'", printed);
    require<ValueError>(to_text(parse_device_name(printed)) == printed, "it prints differently the second time: '{}'", printed);
  }
  if (has_name(name, "remote")) return fuzz::Outcome::accepted;  // would look for a server
  const size_t before = known_backends();
  try {
    Device& d = device(text);
    require<ValueError>(&device(typed_name_of(d)) == &d, "its printed name leads to another device: '{}'", typed_name_of(d));
    return fuzz::Outcome::accepted;
  } catch (const DeviceError&) {
    require<ValueError>(known_backends() == before, "it failed, and left {} backends behind", known_backends() - before);
    return fuzz::Outcome::refused;
  }
}

// Backends that take anything, and one that can never be made.
void register_backends() {
  const auto leaf = [](auto, std::string_view) { return Ref<Backend>(new NullBackend); };
  const auto inner_or_leaf = [leaf](std::span<const Ref<Backend>> inner, std::string_view text) {
    return inner.empty() ? leaf(inner, text) : inner[0];
  };
  register_backend({.name = "leaf", .make = leaf});
  register_backend({.name = "named", .decorator = true, .make = inner_or_leaf});
  register_backend({.name = "option", .decorator = true, .make = inner_or_leaf});
  register_backend({.name = "refused", .decorator = true, .make = [](auto, std::string_view) -> Ref<Backend> {
                      fail<DeviceError>("[device] this backend can never be made");
                    }});
}

std::vector<Bytes> seeds() {
  register_backends();
  std::vector<Bytes> made;
  for (const std::string& name : good_names()) made.push_back(bytes_of_text(name));
  return made;
}

}  // namespace

const fuzz::Target fuzz::target{"device_names_fuzz", seeds, mutate, run};

}  // namespace pyburn
