// Plugins: shared libraries of other packages that add operations, backends, decorators, transports and layers to a running process.
//
//   #include "pyburn/plugin.h"
//
//   PYBURN_PLUGIN() { pyburn::OpTable::global().add({&huber_row}); }
//
// The macro defines the function that registers the contents of the plugin, and exports a record of the headers it was compiled with. A
// plugin compiled with other headers is refused.
#pragma once
#include "pyburn/plugin_abi.h"
#include "pyburn/support/error.h"

#define PYBURN_PLUGIN()                                                                                                  \
  extern "C" [[gnu::visibility("default"), gnu::used]] constinit const ::pyburn::PluginRecord pyburn_plugin_record = {}; \
  extern "C" [[gnu::visibility("default")]] void pyburn_plugin()

namespace pyburn {

struct PluginError : Error {
  using Error::Error;
};

struct Plugin {
  std::string path;                       // absolute, with symbolic links resolved
  std::vector<const OpInfo*> operations;  // what it registered
  nn::LayerEntries layers;
};

// Loads a plugin. A second call for the same file returns the result of the first. PluginError if the file is not a plugin, was compiled
// with other headers, or fails to register; then nothing that it registered is kept. FileError if there is no such file.
const Plugin& load_library(const std::string& path);

}  // namespace pyburn
