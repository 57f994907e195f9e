// Random and damaged names of devices: a name is parsed, printed and parsed again as the same, or raises a DeviceError; names that fail
// leave nothing behind. Deterministic: a seed always gives the same names. `device_names_fuzz --help` tells the options.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

#include "pyburn/backends/null/null_backend.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/device_name.h"
#include "pyburn/start.h"
#include "pyburn/support/error.h"

using namespace pyburn;

namespace {

constexpr const char* kHelp = R"(usage: device_names_fuzz [options]
  --runs N     names (100000)
  --seed S     the seed of the first one; the next ones follow (1)
  --seconds N  a name that takes longer is an error (5)
)";

struct Options {
  int64_t runs = 100000, seconds = 5;
  uint64_t seed = 1;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] {
      require<ValueError>(i + 1 < argc, "{} needs a value", name);
      return argv[++i];
    };
    if (name == "--runs") o.runs = std::stoll(value());
    else if (name == "--seed") o.seed = std::stoull(value());
    else if (name == "--seconds") o.seconds = std::stoll(value());
    else if (name == "--help") std::fputs(kHelp, stdout), std::exit(0);
    else fail<ValueError>("unknown option: got {}; see --help", name);
  }
  return o;
}

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

class Damage {
 public:
  Damage(uint64_t seed, const std::vector<std::string>& names) : random_(seed), names_(names) {}

  std::string operator()() {
    std::string text = below(4) == 0 ? random_text() : names_[below(names_.size())];
    for (uint64_t n = below(4); n > 0; --n) change(text);
    return text;
  }

 private:
  uint64_t below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

  std::string random_text() {
    static constexpr std::string_view kPieces[] = {"cpu", "Fusion", "router", "leaf", "named", "option", "refused", "inner", "autodiff",
        "(", ")", ", ", ":", "\"", "\\", "://", " ", "\xff", "\xc3\xa9", "\n", "\t", "0", "a", "", "-", "."};
    std::string text;
    for (uint64_t n = below(12); n > 0; --n) text += kPieces[below(std::size(kPieces))];
    return text;
  }
  void change(std::string& t) {
    const size_t at = below(t.size() + 1), count = std::min<size_t>(t.size() - at, below(40));
    switch (below(8)) {
      case 0:  // a byte
        if (at < t.size()) t[at] = char(below(256));
        return;
      case 1:
        t.insert(at, 1, "():,\"\\ \n"[below(8)]);
        return;
      case 2:
        t.erase(at, count);
        return;
      case 3:  // repeat, up to many times
        for (uint64_t n = below(8) == 0 ? below(400) : 1; n > 0 && t.size() < 2 * kLongestDeviceName; --n)
          t.insert(at, t.substr(at, count));
        return;
      case 4:  // a piece of another name
        t.insert(at, names_[below(names_.size())].substr(0, below(60)));
        return;
      case 5:  // one more backend, or many
        for (uint64_t n = below(8) == 0 ? below(60) : 1; n > 0; --n) t = "fusion(" + t + ")";
        return;
      case 6:
        t = "router(leaf:" + std::to_string(below(1000)) + ", " + t + ")";
        return;
      default:
        t = t.substr(0, at);
    }
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& names_;
};

bool equal(const DeviceName& a, const DeviceName& b) {
  return a.name == b.name && a.options == b.options && a.parenthesised == b.parenthesised &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(), equal);
}
bool has_name(const DeviceName& d, std::string_view name) {
  return d.name == name || std::any_of(d.arguments.begin(), d.arguments.end(), [&](const DeviceName& a) { return has_name(a, name); });
}

struct Counts {
  int64_t parsed = 0, made = 0, refused = 0;
};

void try_name(const std::string& text, Counts& counts) {
  DeviceName name;
  try {
    name = parse_device_name(text);
  } catch (const DeviceError&) {
    ++counts.refused;
    return;
  }
  ++counts.parsed;
  const std::string printed = to_text(name);
  if (printed.size() <= kLongestDeviceName) {  // blanks after commas may make it longer than what was typed
    require<ValueError>(equal(parse_device_name(printed), name), "it reads back as another name: '{}'", printed);
    require<ValueError>(to_text(parse_device_name(printed)) == printed, "it prints differently the second time: '{}'", printed);
  }
  if (has_name(name, "remote")) return;  // would look for a server
  const size_t before = known_backends();
  try {
    Device& d = device(text);
    ++counts.made;
    require<ValueError>(&device(typed_name_of(d)) == &d, "its printed name leads to another device: '{}'", typed_name_of(d));
  } catch (const DeviceError&) {
    ++counts.refused;
    require<ValueError>(known_backends() == before, "it failed, and left {} backends behind", known_backends() - before);
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

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options o = parse(argc, argv);
#ifndef __SANITIZE_ADDRESS__
    const rlimit limit{rlim_t(4) << 30, rlim_t(4) << 30};
    setrlimit(RLIMIT_AS, &limit);
#endif
    start();
    register_backends();
    const std::vector<std::string> names = good_names();
    Counts counts;
    for (int64_t run = 0; run < o.runs; ++run) {
      const uint64_t seed = o.seed + uint64_t(run);
      const std::string text = Damage(seed * 0x9e3779b97f4a7c15u, names)();
      const std::clock_t begin = std::clock();
      try {
        try_name(text, counts);
      } catch (const std::exception& e) {
        fail<ValueError>("seed {}: {}\n  the name is '{}'", seed, e.what(), text);
      }
      require<ValueError>((std::clock() - begin) / CLOCKS_PER_SEC < o.seconds, "seed {}: took too long\n  the name is '{}'", seed, text);
    }
    std::printf("names %ld: parsed %ld, devices %ld, refused %ld; backends %ld\n", long(o.runs), long(counts.parsed), long(counts.made),
        long(counts.refused), long(known_backends()));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device_names_fuzz: %s\n", e.what());
    return 1;
  }
}
