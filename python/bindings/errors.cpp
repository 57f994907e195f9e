// Exceptions of the core as Python exceptions, and Python's references that die without the GIL.
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "error_path.h"
#include "objects.h"
#include "pyburn/plugin.h"
#include "pyburn/support/assertion.h"
#include "pyburn/support/file_error.h"
#include "pyburn/support/fork_safe_mutex.h"
#include "python_exception.h"

namespace nb = nanobind;

namespace pyburn::python {

PyObject* base_error;

namespace {

PyObject *shape_error, *value_error, *assertion_failed, *index_error, *dtype_error, *device_error, *unsupported_op, *format_error,
    *capture_error, *out_of_memory_error, *remote_error, *gradient_error, *plugin_error;

// Each is also what a Python user would catch.
PyObject* make(nb::module_& m, const char* name, std::initializer_list<PyObject*> also, const char* doc) {
  nb::list bases;
  bases.append(nb::borrow(base_error));
  for (PyObject* b : also) bases.append(nb::borrow(b));
  const std::string full = std::string("pyburn.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), doc, nb::tuple(bases).ptr(), nullptr);
  if (!type) throw nb::python_error();
  m.attr(name) = nb::borrow(type);
  return type;
}

// FileNotFoundError, PermissionError, ...: what open() would raise.
void set_system_error(const FileError& e) noexcept {
  const Object path(PyUnicode_DecodeFSDefaultAndSize(e.path.data(), Py_ssize_t(e.path.size())));
  const Object error(path ? PyObject_CallFunction(PyExc_OSError, "isO", e.code, std::strerror(e.code), path.get()) : nullptr);
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

// A message may quote bytes of a file, which need not be text.
void set_message(PyObject* type, const char* message) noexcept {
  const Object text(PyUnicode_DecodeUTF8(message, Py_ssize_t(std::strlen(message)), "backslashreplace"));
  if (text) PyErr_SetObject(type, text.get());
}

void set_message(PyObject* type, const Error& e) noexcept {
  set_message(type, e.what());
  note_origin(e);
}

struct Released {
  ForkSafeMutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<bool> any{false};
};
Released& released() {
  static auto* r = new Released;
  return *r;
}

std::atomic<int> asking{0};  // threads between about_to_take_gil and has_taken_gil
std::atomic<bool> ending{false};

}  // namespace

void about_to_take_gil() noexcept {
  asking.fetch_add(1);
  if (!ending.load() || PyGILState_Check()) return;
  asking.fetch_sub(1);
  for (;;) pause();  // until the process is gone
}
void has_taken_gil() noexcept { asking.fetch_sub(1); }

void stop_threads_at_exit() {
  pthread_atfork(nullptr, nullptr, [] {  // a child would wait for threads that stay in the parent
    asking = 0;
    forget_tensors_of_other_threads();
  });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    ending = true;
    PyThreadState* state = PyEval_SaveThread();  // let those in that are already waiting
    while (asking.load() > 0) usleep(100);
    PyEval_RestoreThread(state);
  }));
}

PythonException PythonException::explained(const std::string& message) const {
  PyObject* value = value_.get();
  bool about_value = false;
  for (PyObject* kind : {PyExc_ValueError, PyExc_TypeError, PyExc_AttributeError})
    about_value |= PyErr_GivenExceptionMatches(value, kind) != 0;
  if (!about_value) return *this;
  PyErr_Format(PyExc_ValueError, "%s: %S", message.c_str(), value);
  const nb::python_error e;
  PyException_SetCause(e.value().ptr(), Py_NewRef(value));
  return PythonException(e);
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {  // already set
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const PythonException& e) {
    e.raise();
  } catch (const ShapeError& e) {
    set_message(shape_error, e);
  } catch (const AssertionFailed& e) {
    set_message(assertion_failed, e);
  } catch (const IndexError& e) {
    set_message(index_error, e);
  } catch (const DTypeError& e) {
    set_message(dtype_error, e);
  } catch (const DeviceError& e) {
    set_message(device_error, e);
  } catch (const UnsupportedOp& e) {
    set_message(unsupported_op, e);
  } catch (const FormatError& e) {
    set_message(format_error, e);
  } catch (const CaptureError& e) {
    set_message(capture_error, e);
  } catch (const OutOfMemoryError& e) {
    set_message(out_of_memory_error, e);
  } catch (const RemoteError& e) {
    set_message(remote_error, e);
  } catch (const GradientError& e) {
    set_message(gradient_error, e);
  } catch (const PythonInterrupt& e) {
    e.exception.raise();
  } catch (const Interrupted&) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const FileError& e) {
    set_system_error(e);
  } catch (const PluginError& e) {
    PyErr_SetObject(plugin_error, Object(PyUnicode_DecodeFSDefault(e.what())).get());  // it names a file
  } catch (const Error& e) {
    set_message(value_error, e);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(out_of_memory_error, "out of host memory");
  } catch (const std::length_error&) {  // of a container
    PyErr_SetString(out_of_memory_error, "out of host memory");
  } catch (const std::bad_cast&) {  // of nanobind, which does not say which value it was
    PyErr_SetString(PyExc_TypeError, "an argument, or a value inside one, has a type that cannot be converted");
  } catch (const std::exception& e) {
    set_message(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

void release_later(PyObject* p) noexcept {
  if (!p || !Py_IsInitialized()) return;  // at exit the interpreter is gone: so is the object
  if (PyGILState_Check()) return Py_DECREF(p);
  {
    std::lock_guard lock(released().mutex);
    released().objects.push_back(p);
    if (released().any.exchange(true)) return;
  }
  const auto drain = [](void*) {
    drain_released();
    return 0;
  };
  Py_AddPendingCall(drain, nullptr);  // for the main thread. Where the queue is full, the next thread that comes back to Python drains
}

void drain_released() noexcept {
  if (!released().any.load(std::memory_order_relaxed)) return;
  std::vector<PyObject*> dead;
  {
    std::lock_guard lock(released().mutex);
    dead.swap(released().objects);
    released().any = false;
  }
  for (PyObject* p : dead) Py_DECREF(p);
}

void bind_errors(nb::module_& m) {
  base_error = PyErr_NewExceptionWithDoc("pyburn.PyburnError", "Base class of all errors of pyburn.", PyExc_Exception, nullptr);
  m.attr("PyburnError") = nb::borrow(base_error);
  shape_error = make(m, "ShapeError", {PyExc_RuntimeError, PyExc_ValueError}, "The shapes of the arguments do not match.");
  value_error = make(m, "ArgumentError", {PyExc_RuntimeError, PyExc_ValueError}, "An argument has a value that makes no sense.");
  assertion_failed = make(
      m, "AssertionFailed", {PyExc_RuntimeError, PyExc_ValueError, PyExc_AssertionError}, "An argument is refused where PyTorch asserts.");
  index_error = make(m, "IndexOutOfRange", {PyExc_IndexError, PyExc_RuntimeError}, "An axis or an index does not exist.");
  dtype_error = make(m, "DTypeError", {PyExc_RuntimeError, PyExc_TypeError}, "A dtype is not supported, or dtypes do not match.");
  device_error = make(m, "DeviceError", {PyExc_RuntimeError}, "A device is unknown, unavailable, or not the one needed.");
  unsupported_op = make(m, "UnsupportedOp", {PyExc_NotImplementedError}, "A backend cannot run an operation.");
  format_error = make(m, "FormatError", {PyExc_ValueError}, "A file is not what it should be.");
  capture_error = make(m, "CaptureError", {PyExc_RuntimeError}, "A model cannot be captured as a graph.");
  out_of_memory_error = make(m, "OutOfMemoryError", {PyExc_RuntimeError, PyExc_MemoryError}, "Memory is exhausted.");
  remote_error = make(m, "RemoteError", {PyExc_ConnectionError}, "A remote backend does not answer as it should.");
  gradient_error = make(m, "GradientError", {PyExc_RuntimeError}, "A gradient cannot be computed.");
  plugin_error = make(m, "PluginError", {PyExc_OSError, PyExc_ValueError}, "A library is not a plugin that can be loaded here.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error&) {
      set_python_error();
    } catch (const PythonException&) {
      set_python_error();
    } catch (const std::bad_alloc&) {
      set_python_error();
    } catch (const std::length_error&) {
      set_python_error();
    } catch (const PythonError&) {
    }
  });
}

}  // namespace pyburn::python
