// Plugins: shared libraries of other packages, which add operations, backends, decorators, transports and layers to a running process.
//
//   #include "pyburn/plugin.h"
//
//   PYBURN_PLUGIN() { pyburn::OpTable::global().add({&huber_row}); }
//
// The macro writes the head of the function that registers what the plugin brings, and exports what it was compiled against. A plugin runs
// with the headers that it was compiled with, and is refused otherwise.
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
  std::string path;                       // absolute, without links
  std::vector<const OpInfo*> operations;  // what it has added
  nn::LayerEntries layers;
};

// Loads a plugin. A second call for the same file returns what the first one did. PluginError where the file is not a plugin, was built
// against other headers, or fails to register: then nothing that it registered stays. FileError where there is no such file.
const Plugin& load_library(const std::string& path);

}  // namespace pyburn
