// The capsule for pyburn/python.h: functions that wrap and unwrap tensors, modules and devices.
#pragma once
#include <nanobind/nanobind.h>

namespace pyburn::python {

void bind_interop(nanobind::module_& m);

}  // namespace pyburn::python
