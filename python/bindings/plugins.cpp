// Other packages: libraries loaded at run time.
#include <dlfcn.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <vector>

#include "objects.h"
#include "pyburn/ir/op_info.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

// The schemas and doc lines of the operations that the library brings.
nb::list load_library(const std::string& path) {
  const size_t before = OpTable::global().rows().size();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    PyErr_Format(PyExc_OSError, "[load_library] %s", dlerror());
    throw PythonError();
  }
  auto* plugin = reinterpret_cast<void (*)()>(dlsym(library, "pyburn_plugin"));
  if (!plugin) fail<ValueError>("[load_library] expected a function pyburn_plugin in the library: got {}", path);
  plugin();
  nb::list added;
  const auto rows = OpTable::global().rows();
  for (size_t i = before; i < rows.size(); ++i) added.append(nb::make_tuple(rows[i]->schema, rows[i]->doc));
  return added;
}

}  // namespace

void bind_plugins(nb::module_& m) { m.def("_load_library", load_library, "path"_a); }

}  // namespace pyburn::python
