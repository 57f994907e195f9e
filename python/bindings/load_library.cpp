// Plugins of other packages, loaded at run time.
#include "objects.h"
#include "pyburn/plugin.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

// The schemas and doc lines of the operations that the plugin brings. The path comes as bytes: names of files need not be Unicode.
nb::list load(nb::bytes path) {
  const Plugin& plugin = [&]() -> const Plugin& {
    const std::string text(path.c_str(), path.size());
    const GilRelease released;
    return load_library(text);
  }();
  nb::list added;
  for (const OpInfo* row : plugin.operations) added.append(nb::make_tuple(row->schema, row->doc));
  return added;
}

}  // namespace

void bind_plugins(nb::module_& m) { m.def("_load_library", load, "path"_a); }

}  // namespace pyburn::python
