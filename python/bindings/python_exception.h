// An exception of Python that may be raised more than once: an operation that fails late leaves it with every storage that it spoils.
// (nanobind ends the process when a python_error is raised again.)
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
  // The same, caused by this one. For what is wrong with a value; anything else (memory, an interrupt) stays as it is.
  PythonException explained(const std::string& message) const;
  void raise() const noexcept {  // under the GIL
    PyErr_Restore(
        Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value_.get()))), Py_NewRef(value_.get()), PyException_GetTraceback(value_.get()));
  }

 private:
  std::shared_ptr<PyObject> value_;
  std::string text_;
};

// What a signal handler raised, KeyboardInterrupt as a rule, while C++ worked.
struct PythonInterrupt final : Interrupted {
  explicit PythonInterrupt(const nanobind::python_error& e) : Interrupted("interrupted"), exception(e) {}
  PythonException exception;
};

// fn(), with what it raises in Python as a PythonException.
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
