// A Python exception that can be raised more than once: a deferred operation stores it in every storage that it affects. (nanobind ends the
// process if a python_error is raised again.)
#pragma once
#include <nanobind/nanobind.h>

#include <memory>

#include "arguments.h"
#include "pyburn/support/error.h"

namespace pyburn::python {

class PythonException : public std::exception {
 public:
  explicit PythonException(const nanobind::python_error& e) : value_(Py_NewRef(e.value().ptr()), release_later), text_(e.what()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  // Raises the same type, caused by this one, for errors about values; others (memory, interrupts) are raised unchanged.
  PythonException explained(const std::string& message) const;
  void raise() const noexcept {  // under the GIL
    PyErr_Restore(
        Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value_.get()))), Py_NewRef(value_.get()), PyException_GetTraceback(value_.get()));
  }

 private:
  std::shared_ptr<PyObject> value_;
  std::string text_;
};

// The exception of a signal handler, usually KeyboardInterrupt, raised while C++ code ran.
struct PythonInterrupt final : Interrupted {
  explicit PythonInterrupt(const nanobind::python_error& e) : Interrupted("interrupted"), exception(e) {}
  PythonException exception;
};

// Calls fn(), converting Python exceptions to PythonException.
template <class Fn>
auto with_python_exceptions(Fn fn) {
  try {
    return fn();
  } catch (const PythonError&) {
    throw PythonException(nanobind::python_error());
  } catch (const nanobind::python_error& e) {
    throw PythonException(e);
  }
}

}  // namespace pyburn::python
