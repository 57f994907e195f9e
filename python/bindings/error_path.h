// Adds the path of the failing module to Python errors, as for C++ errors (pyburn/nn/error_path.h).
#pragma once
#include "module_object.h"

namespace pyburn::python {

extern PyObject* base_error;  // pyburn.PyburnError

// Records in the Python error created from a C++ error which module failed.
void note_origin(const Error& error) noexcept;
// Adds the path from a module, whose call with these arguments failed, to the failing module; the error is set.
void say_where(nn::Module& module, PyObject* args) noexcept;

}  // namespace pyburn::python
