// Errors of Python that say where in a model they arose, as those of C++ do (pyburn/nn/error_path.h).
#pragma once
#include "module_object.h"

namespace pyburn::python {

extern PyObject* base_error;  // pyburn.PyburnError

// Notes in the error of Python that has been made of this one which module failed.
void note_origin(const Error& error) noexcept;
// Adds the path from a module, whose call with these arguments failed, to the one where it began; the error is set.
void say_where(nn::Module& module, PyObject* args) noexcept;

}  // namespace pyburn::python
