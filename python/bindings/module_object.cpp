#include "module_object.h"

#include <nanobind/stl/string.h>

#include "error_path.h"
#include "module_class.h"

namespace nb = nanobind;

namespace pyburn::python {

PyTypeObject* module_type = nullptr;

namespace {

using nn::Entry;
using nn::Module;

PyObject* object_of(const Module& m) { return static_cast<PyObject*>(m.host_object()); }

// ---- calls

// How deep modules call each other on this thread. Python 3.12 and later do not count calls from C++ closely enough: a module below
// itself would use up the stack.
thread_local int call_depth = 0;
struct CallScope {
  CallScope() { ++call_depth; }
  ~CallScope() { --call_depth; }
  bool is_too_deep() const { return call_depth > Py_GetRecursionLimit(); }
};

PyObject* call_with_hooks(PyObject* self, PyObject* args, PyObject* kwargs) {
  Object hooks(PyImport_ImportModule("pyburn.nn.hooks"));
  Object function(hooks ? PyObject_GetAttrString(hooks.get(), "call_with_hooks") : nullptr);
  const Object named = kwargs ? Object::borrowed(kwargs) : Object(PyDict_New());
  return function && named ? PyObject_CallFunctionObjArgs(function.get(), self, args, named.get(), nullptr) : nullptr;
}

// The forward of the class as a function of self, where self.forward would be that one, bound. Borrowed; null otherwise.
PyObject* unbound_forward(PyObject* self, PyObject* name) {
  PyTypeObject* type = Py_TYPE(self);
  if (!has_own_attributes(type) || dict_has(self, name)) return nullptr;
  PyObject* found = _PyType_Lookup(type, name);
  return found && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR) ? found : nullptr;
}

// ---- what C++ asks of Python

TensorHandle call_object(Module& m, const TensorHandle& x) {
  const GilAcquire gil;
  const nb::object result = module_object(Ref<Module>(&m))(nb::cast(x));
  if (!is_tensor(result.ptr())) type_error("a module inside a C++ module must return a Tensor: got " + type_text(result.ptr()));
  return unwrap(result.ptr());
}
void train_object(Module& m, bool mode) {
  const GilAcquire gil;
  nb::borrow(object_of(m)).attr("train")(mode);
}
TensorHandle tensor_of_object(const Module& m, std::string_view name) {
  const GilAcquire gil;
  const nb::object found = nb::borrow(object_of(m)).attr(std::string(name).c_str());
  if (found.is_none()) return {};
  if (!is_tensor(found.ptr())) type_error("expected a Tensor as '" + std::string(name) + "': got " + type_text(found.ptr()));
  return unwrap(found.ptr());
}
std::string object_type_name(const Module& m) {
  const GilAcquire gil;
  return nb::cast<std::string>(nb::borrow(object_of(m)).type().attr("__name__"));
}

}  // namespace

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

std::string_view text_of(PyObject* name) {
  Py_ssize_t size = 0;
  const char* s = PyUnicode_AsUTF8AndSize(name, &size);
  if (!s) throw nb::python_error();
  return {s, size_t(size)};
}

std::string type_text(PyObject* value) {
  const nb::handle type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  const std::string name = nb::cast<std::string>(type.attr("__qualname__")),
                    module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  return module == "builtins" ? name : module + "." + name;
}

void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw PythonError();
}
void type_error(const std::string& text) { raise(PyExc_TypeError, text); }

bool dict_has(PyObject* self, PyObject* key) {
  PyObject* dict = as_object(self)->dict;
  return dict && PyDict_Contains(dict, key) == 1;
}

Module& unwrap_module(PyObject* p) {
  Module* m = ready_module(p);
  if (!m) raise(PyExc_AttributeError, "cannot assign module before Module.__init__() call");
  return *m;
}

Ref<Module> to_module(nb::handle h) {
  if (h.is_none()) return {};
  if (!is_module(h.ptr())) {
    const bool is_class = PyType_Check(h.ptr()) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(h.ptr()), module_type);
    const bool is_list = PyList_Check(h.ptr()) || PyTuple_Check(h.ptr());
    const std::string hint = is_class  ? ": create an instance of the class"
                             : is_list ? ": pass the modules as separate arguments, as in Sequential(*layers)"
                                       : "";
    type_error(type_text(h.ptr()) + " is not a Module subclass" + hint);
  }
  return Ref<Module>(&unwrap_module(h.ptr()));
}

nb::object module_object(const Ref<Module>& m) {
  if (!m) return nb::none();
  if (PyObject* p = object_of(*m)) return nb::borrow(p);
  PyTypeObject* type = class_of(typeid(*m));
  const nb::object self = nb::steal(type->tp_alloc(type, 0));
  if (!self.is_valid()) throw nb::python_error();
  adopt(self.ptr(), m);
  return self;
}

void adopt(PyObject* self, const Ref<Module>& m) {
  as_object(self)->module = m.get();
  m->adopt_by(self);
  m->call_host(!is_native_class(Py_TYPE(self)));
  use_own_attributes(Py_TYPE(self));
}

namespace {

PyObject* call_forward(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject *const forward = interned("forward"), *const hooks_key = interned("_pb_hooks");
  if (Module::all_detours & Module::kHost || dict_has(self, hooks_key)) return call_with_hooks(self, args, kwargs);
  const Object function = Object::borrowed(unbound_forward(self, forward));
  if (!function) {
    const Object method(PyObject_GetAttr(self, forward));
    return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  SmallVector<PyObject*, 8> all;
  all.push_back(self);
  for (Py_ssize_t i = 0; i < count; ++i) all.push_back(PyTuple_GET_ITEM(args, i));
  return PyObject_VectorcallDict(function.get(), all.data(), size_t(count + 1), kwargs);
}

}  // namespace

PyObject* call_module(PyObject* self, PyObject* args, PyObject* kwargs) {
  const CallScope scope;
  if (scope.is_too_deep()) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded while calling a module");
    return nullptr;
  }
  Module* m = ready_module(self);
  if (!m) {
    PyErr_SetString(PyExc_AttributeError, "cannot call a module before Module.__init__() call");
    return nullptr;
  }
  PyObject* result = call_forward(self, args, kwargs);
  if (!result) [[unlikely]]
    say_where(*m, args);
  return result;
}

void install_module_host() {
  Adoptable::host = {
      [](void* object) noexcept {
        const GilAcquire gil;
        Py_INCREF(static_cast<PyObject*>(object));
      },
      [](void* object) noexcept { release_later(static_cast<PyObject*>(object)); },
  };
  Module::host_calls = {call_object, train_object, object_type_name, tensor_of_object};
}

}  // namespace pyburn::python
