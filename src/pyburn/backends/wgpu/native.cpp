#include "pyburn/backends/wgpu/native.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

// Structures change between generations of the library: only the one whose header this was compiled with is accepted.
constexpr uint32_t kGeneration = 29;

#ifdef __APPLE__
constexpr const char *kPackaged = "libwgpu_native-release.dylib", *kSystem = "libwgpu_native.dylib";
#else
constexpr const char *kPackaged = "libwgpu_native-release.so", *kSystem = "libwgpu_native.so";
#endif

constexpr const char* kAdvice = "install it with pip install wgpu==0.32.0 (Python 3.11 or newer), or set PYBURN_WGPU_LIBRARY to its path";

// The Python package `wgpu` lies beside the package `pyburn`, whose folder lib/ holds this library.
std::string packaged_library() {
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void*>(&reason_against_native), &here) || !here.dli_fname) return "";
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(here.dli_fname, ignored).parent_path();
  for (int level = 0; level < 3; ++level, folder = folder.parent_path())
    if (const auto path = folder / "wgpu" / "resources" / kPackaged; std::filesystem::exists(path, ignored)) return path.string();
  return "";
}

std::atomic<std::string (*)()> finder{nullptr};

struct Loaded {
  Native functions;
  std::string problem;
};

void open_library(Loaded& loaded) {
  std::vector<std::string> places;
  if (const char* given = std::getenv("PYBURN_WGPU_LIBRARY"); given && *given) {
    places.push_back(given);  // nothing else: who names a library wants that one
  } else {
    if (std::string packaged = packaged_library(); !packaged.empty()) places.push_back(std::move(packaged));
    else if (auto* find = finder.load())
      if (std::string found = find(); !found.empty()) places.push_back(std::move(found));
    places.push_back(kSystem);
  }
  void* library = nullptr;
  std::string reason;
  for (size_t i = 0; i < places.size() && !library; ++i) {
    library = dlopen(places[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    if (const char* text = library ? nullptr : dlerror()) reason = text;
  }
  if (!library) {
    loaded.problem = format("the library wgpu-native was not found ({}): {}", reason, kAdvice);
    return;
  }
#define PYBURN_WGPU_LOAD(name)                                                                             \
  loaded.functions.name = reinterpret_cast<decltype(loaded.functions.name)>(dlsym(library, "wgpu" #name)); \
  if (!loaded.functions.name && loaded.problem.empty()) loaded.problem = "wgpu-native has no function wgpu" #name;
  PYBURN_WGPU_FUNCTIONS(PYBURN_WGPU_LOAD)
#undef PYBURN_WGPU_LOAD
  if (loaded.functions.GetVersion) {
    const uint32_t version = loaded.functions.GetVersion();
    if (version >> 24 != kGeneration)
      loaded.problem = format("wgpu-native has another version: expected {}, got {}.{}.{}.{}; {}", kGeneration, version >> 24,
          version >> 16 & 255, version >> 8 & 255, version & 255, kAdvice);
  }
}

// Leaked: GPU objects live until the process ends.
const Loaded& loaded() {
  static const Loaded* one = [] {
    auto* fresh = new Loaded;
    open_library(*fresh);
    return fresh;
  }();
  return *one;
}

}  // namespace

std::string reason_against_native() { return loaded().problem; }

const Native& native() {
  const Loaded& l = loaded();
  require<DeviceError>(l.problem.empty(), "[wgpu] {}", l.problem);
  return l.functions;
}

}  // namespace pyburn::wgpu

void pyburn::set_wgpu_library_finder(std::string (*find)()) { wgpu::finder = find; }
