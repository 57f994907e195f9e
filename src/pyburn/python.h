// Converts tensors and modules between C++ and Python, for extension modules of other packages. Plain CPython: use it with or without
// nanobind or pybind11. An extension module links to pyburn::pyburn and begins with import_pyburn():
//
//   #include "pyburn/python.h"
//   using namespace pyburn;
//
//   PyObject* twice(PyObject*, PyObject* argument) {
//     return interop::guarded([&] { return interop::wrap(interop::unwrap<TensorHandle>(argument) * 2.0); });
//   }
//   PyMODINIT_FUNC PyInit_mine() {
//     if (!interop::import_pyburn()) return nullptr;
//     return PyModule_Create(&definition);
//   }
//
// Every function requires the GIL.
#pragma once
#include <Python.h>

#include "pyburn/plugin_abi.h"

namespace pyburn::interop {

// The functions that pyburn._core exports in a capsule. Functions that return an object return a new reference, or null with an error set.
struct Interface {
  PluginRecord built_with;  // always first: identifies the layout of the rest
  PyObject* (*wrap_tensor)(const TensorHandle&);
  bool (*unwrap_tensor)(PyObject*, TensorHandle&);
  PyObject* (*wrap_module)(const Ref<nn::Module>&);
  bool (*unwrap_module)(PyObject*, Ref<nn::Module>&);
  PyObject* (*wrap_device)(Device&);
  bool (*unwrap_device)(PyObject*, Device*&);
  void (*set_error)() noexcept;
};
inline constexpr char kCapsule[] = "pyburn._core._interop";

inline const Interface* interface = nullptr;  // set by import_pyburn()

// Call it in the module's init function. False: a Python error is set, ImportError if the extension module was built with other
// headers.
inline bool import_pyburn() {
  static constexpr PluginRecord own;
  const auto* found = static_cast<const Interface*>(PyCapsule_Import(kCapsule, 0));
  if (!found) return false;
  if (!own.fits(found->built_with)) {
    PyErr_Format(PyExc_ImportError,
        "the extension module was built against %s of pyburn: expected version %.15s, got %.15s. Rebuild it against this version; "
        "`python -m pyburn --cmake` prints the folder for find_package(pyburn)",
        own.has_version_of(found->built_with) ? "other headers" : "another version", found->built_with.version, own.version);
    return false;
  }
  interface = found;
  return true;
}

inline bool is_imported() { return interface || import_pyburn(); }

// The Python object: the same one while it lives. None for an undefined tensor or a null module.
inline PyObject* wrap(const TensorHandle& t) { return is_imported() ? interface->wrap_tensor(t) : nullptr; }
inline PyObject* wrap(const Ref<nn::Module>& m) { return is_imported() ? interface->wrap_module(m) : nullptr; }
inline PyObject* wrap(Device& d) { return is_imported() ? interface->wrap_device(d) : nullptr; }

// False: p has another type, and a TypeError is set. A device may be given by its name.
inline bool unwrap(PyObject* p, TensorHandle& to) { return is_imported() && interface->unwrap_tensor(p, to); }
inline bool unwrap(PyObject* p, Ref<nn::Module>& to) { return is_imported() && interface->unwrap_module(p, to); }
inline bool unwrap(PyObject* p, Device*& to) { return is_imported() && interface->unwrap_device(p, to); }

// A Python error is set: transports it through C++ to guarded().
struct ErrorIsSet {};

// As above for use inside guarded(): unwrap<TensorHandle>(p), unwrap<Ref<nn::Module>>(p), unwrap<Device*>(p).
template <class T>
T unwrap(PyObject* p) {
  T value{};
  if (!unwrap(p, value)) throw ErrorIsSet();
  return value;
}

// Calls function() and converts C++ exceptions: pyburn's errors as in pyburn's own functions, std::exception to RuntimeError.
template <class F>
PyObject* guarded(F function) noexcept {
  try {
    return function();
  } catch (const ErrorIsSet&) {
    return nullptr;
  } catch (...) {
    if (is_imported()) interface->set_error();
    return nullptr;
  }
}

// Releases the GIL while it lives: for long computations on tensors that were unwrapped before.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace pyburn::interop
