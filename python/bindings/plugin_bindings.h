// What packages of other people need: plugins, and extension modules that take tensors and modules.
#pragma once
#include <nanobind/nanobind.h>

namespace pyburn::python {

void bind_load_library(nanobind::module_& m);
void bind_interop(nanobind::module_& m);  // for pyburn/python.h

}  // namespace pyburn::python
