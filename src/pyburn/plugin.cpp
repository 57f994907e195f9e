#include "pyburn/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "pyburn/io/mapped_file.h"
#include "pyburn/start.h"
#include "pyburn/support/file_error.h"
#include "pyburn/support/registration.h"

namespace pyburn {
namespace {

constinit const PluginRecord kOwn = {};

std::string canonical(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (!real) throw FileError("[load_library] cannot open the file", path, errno);
  return real.get();
}

void check_record(const std::string& path, const PluginRecord& other) {
  if (kOwn.fits(other)) return;
  std::string version(other.version, strnlen(other.version, sizeof other.version));
  std::replace_if(
      version.begin(), version.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  fail<PluginError>(
      "[load_library] the plugin was built against {} of pyburn: expected version {}, got {} in {}. Rebuild it against this version; "
      "`python -m pyburn --cmake` prints the folder for find_package(pyburn)",
      kOwn.has_version_of(other) ? "other headers" : "another version", kPyburnVersion, version, path);
}

// Loading a library runs its initialisers, so the records are read from the file.
void check_file(const std::string& path) {
  const io::MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  const auto* mark = reinterpret_cast<const std::byte*>(kOwn.mark);
  bool found = false;
  for (auto at = bytes.begin();; ++at) {
    at = std::search(at, bytes.end(), std::boyer_moore_horspool_searcher(mark, mark + sizeof kOwn.mark));
    if (at == bytes.end()) break;
    PluginRecord r;
    std::memset(static_cast<void*>(&r), 0, sizeof r);  // a shorter one, of another version, may end the file
    std::memcpy(static_cast<void*>(&r), &*at, std::min(sizeof r, size_t(bytes.end() - at)));
    check_record(path, r);
    found = true;
  }
  require<PluginError>(found,
      "[load_library] not a plugin: expected a shared library with PYBURN_PLUGIN() (pyburn/plugin.h), got {}. A plugin that has a plain "
      "function pyburn_plugin() was written for an older version: use the macro and rebuild it",
      path);
}

template <class T>
T* symbol(void* library, const char* name, const std::string& path) {
  void* found = dlsym(library, name);
  require<PluginError>(found, "[load_library] not a plugin: expected PYBURN_PLUGIN() in the library, got no symbol {} in {}", name, path);
  return reinterpret_cast<T*>(found);
}

std::string reason_in_flight() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::unique_ptr<Plugin> load(const std::string& path) {
  check_file(path);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: rows and backends live as long as the process
  if (!library) {
    const char* why = dlerror();
    fail<PluginError>("[load_library] cannot load {}: {}", path, why ? why : "unknown reason");
  }
  check_record(path, *symbol<const PluginRecord>(library, "pyburn_plugin_record", path));
  auto* register_all = symbol<void()>(library, "pyburn_plugin", path);

  const size_t operations = OpTable::global().rows().size(), layers = nn::layer_entries().size();
  RegistrationScope scope;
  try {
    register_all();
  } catch (...) {
    fail<PluginError>("[load_library] the plugin failed to register, and was not loaded: {}, in {}", reason_in_flight(), path);
  }
  scope.keep();
  auto plugin = std::make_unique<Plugin>(Plugin{path, {}, {}});
  const auto rows = OpTable::global().rows();
  plugin->operations.assign(rows.begin() + std::ptrdiff_t(operations), rows.end());
  const nn::LayerEntries known = nn::layer_entries();
  plugin->layers.assign(known.begin() + std::ptrdiff_t(layers), known.end());
  return plugin;
}

}  // namespace

const Plugin& load_library(const std::string& path) {
  start();
  static std::recursive_mutex mutex;  // a plugin may load another one
  static auto* plugins = new std::map<std::string, std::unique_ptr<Plugin>>;
  std::string real = canonical(path);
  std::lock_guard lock(mutex);
  const auto known = plugins->find(real);
  if (known != plugins->end()) return *known->second;
  std::unique_ptr<Plugin> fresh = load(real);
  return *plugins->try_emplace(std::move(real), std::move(fresh)).first->second;
}

}  // namespace pyburn
