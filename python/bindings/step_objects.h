// What Python holds of an operation with its attributes, for runs of compiled steps.
#pragma once
#include <nanobind/nanobind.h>

#include "pyburn/ir/operation.h"

namespace pyburn::python {

struct OperationObject {
  Operation op;
};

void bind_steps(nanobind::module_& m);

}  // namespace pyburn::python
