// Methods of modules that nanobind made, as Python's tools expect methods: inspect.signature() knows their arguments, and bound ones are
// types.MethodType.
#include "module_class.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

struct MethodObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;   // of nanobind
  PyTypeObject* owner;  // the class that defines it
};
MethodObject* as_method(PyObject* p) { return reinterpret_cast<MethodObject*>(p); }

PyObject* call(PyObject* self, PyObject* const* args, size_t count, PyObject* names) {
  return PyObject_Vectorcall(as_method(self)->function, args, count, names);
}
PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}
PyObject* of_function(PyObject* self, void* name) {
  return PyObject_GetAttrString(as_method(self)->function, static_cast<const char*>(name));
}
PyObject* owner(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_method(self)->owner)); }
PyObject* qualified_name(PyObject* self, void*) {
  const Object name(of_function(self, const_cast<char*>("__name__")));
  return name ? PyUnicode_FromFormat("%s.%U", as_method(self)->owner->tp_name, name.get()) : nullptr;
}
PyObject* signature(PyObject* self, void*) {
  const Object module(PyImport_ImportModule("pyburn.nn.signature"));
  return module ? PyObject_CallMethod(module.get(), "signature_of", "O", self) : nullptr;
}
PyObject* represent(PyObject* self) {
  const Object name(qualified_name(self, nullptr));
  return name ? PyUnicode_FromFormat("<function %U>", name.get()) : nullptr;
}
PyObject* reduce(PyObject* self, PyObject*) {  // pickled by name
  const Object name(of_function(self, const_cast<char*>("__name__")));
  const Object builtins(PyImport_ImportModule("builtins")), getter(builtins ? PyObject_GetAttrString(builtins.get(), "getattr") : nullptr);
  return name && getter ? Py_BuildValue("O(OO)", getter.get(), as_method(self)->owner, name.get()) : nullptr;
}

PyGetSetDef attributes[] = {
    {"__name__", of_function, nullptr, nullptr, const_cast<char*>("__name__")},
    {"__qualname__", qualified_name, nullptr, nullptr, nullptr},
    {"__module__", of_function, nullptr, nullptr, const_cast<char*>("__module__")},
    {"__doc__", of_function, nullptr, nullptr, const_cast<char*>("__doc__")},
    {"__nb_signature__", of_function, nullptr, nullptr, const_cast<char*>("__nb_signature__")},
    {"__objclass__", owner, nullptr, nullptr, nullptr},
    {"__signature__", signature, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(MethodObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyTypeObject* make_method_type() {
  PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
      {Py_tp_repr, reinterpret_cast<void*>(represent)},
      {Py_tp_getset, attributes},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {0, nullptr},
  };
  PyType_Spec spec = {"pyburn._core.Method", int(sizeof(MethodObject)), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

void wrap_methods(PyTypeObject* type) {
  static PyTypeObject* const method_type = make_method_type();
  const Object members = checked(PyDict_Copy(type->tp_dict));
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(members.get(), &at, &name, &value);) {
    if (!PyObject_HasAttrString(value, "__nb_signature__")) continue;
    auto* method = PyObject_New(MethodObject, method_type);  // lives as long as the class, which is for ever
    if (!method) throw nb::python_error();
    method->vectorcall = call;
    method->function = Py_NewRef(value);
    method->owner = type;
    const Object owned(reinterpret_cast<PyObject*>(method));
    if (PyObject_SetAttr(reinterpret_cast<PyObject*>(type), name, owned.get()) < 0) throw nb::python_error();
  }
}

}  // namespace pyburn::python
