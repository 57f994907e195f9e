// Attributes of modules: what a class and its object hold, the registry, and the options of layers.
#include "module_class.h"
#include "pyburn/nn/layer.h"
#include "pyburn/nn/module_changes.h"
#include "python_fields.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

using nn::AnyConfig;
using nn::Entry;
using nn::Module;

// nn.Buffer(...) marks a tensor as one that registers itself. Null: not marked; else its `persistent`.
PyObject* buffer_mark(PyObject* p) {
  static PyObject *const mark = interned("_is_buffer"), *const persistent = interned("persistent");
  if (!is_tensor(p)) return nullptr;
  PyObject* dict = reinterpret_cast<TensorObject*>(p)->dict;
  return dict && PyDict_Contains(dict, mark) == 1 ? PyDict_GetItemWithError(dict, persistent) : nullptr;
}

// ---- options

void set_option(Module& m, PyObject* name, PyObject* value) {
  nb::dict changed;
  changed[nb::handle(name)] = nb::handle(value);
  wait_until_unused(m, "Module.__setattr__");
  fields_from_dict(*m.config().type, m.config().fields, changed);
}

// ---- reading

getattrofunc slot_of_getattr = nullptr;  // Python's, for classes that have a __getattr__
PyObject *own_getattr = nullptr, *own_getattribute = nullptr;

// A subclass with its own __getattr__ is queried for registered names, as in PyTorch.
bool looks_up_registered(PyTypeObject* type) {
  static PyObject* const name = interned("__getattr__");
  return has_own_attributes(type) || _PyType_Lookup(type, name) == own_getattr;
}

// What registry and options hold.
PyObject* registered_attribute(PyObject* self, PyObject* name) {
  try {
    if (Module* m = ready_module(self)) {
      const std::string_view text = text_of(name);
      if (const Entry* e = m->find(text)) return entry_object(*e).release().ptr();
      if (nb::object option = option_of(*m, text); option.is_valid()) return option.release().ptr();
    }
    PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", Py_TYPE(self)->tp_name, name);
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

// As PyObject_GenericGetAttr finds it; then what is registered. Names of the class, methods above all, cost no walk of the registry.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  if (!PyUnicode_Check(name)) return PyErr_Format(PyExc_TypeError, "attribute name must be string, not '%.200s'", Py_TYPE(name)->tp_name);
  PyTypeObject* type = Py_TYPE(self);
  Object of_class = Object::borrowed(_PyType_Lookup(type, name));
  const descrgetfunc get = of_class ? Py_TYPE(of_class.get())->tp_descr_get : nullptr;
  if (get && PyDescr_IsData(of_class.get())) return get(of_class.get(), self, reinterpret_cast<PyObject*>(type));
  if (PyObject* dict = as_object(self)->dict) {
    if (PyObject* found = PyDict_GetItemWithError(dict, name)) return Py_NewRef(found);
    if (PyErr_Occurred()) return nullptr;
  }
  if (get) return get(of_class.get(), self, reinterpret_cast<PyObject*>(type));
  if (of_class) return of_class.release();
  if (looks_up_registered(type)) return registered_attribute(self, name);
  return PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", type->tp_name, name);
}

// ---- writing

void remove_from_dict(PyObject* self, PyObject* name) {
  if (dict_has(self, name)) PyDict_DelItem(as_object(self)->dict, name);
}

// self.name = value for a value that registers itself.
void assign_registered(PyObject* self, PyObject* name, Entry::Kind kind, PyObject* value, bool persistent = true) {
  Module* m = ready_module(self);
  const bool parameter = kind == Entry::Kind::parameter;
  if (!m)
    raise(PyExc_AttributeError,
        parameter ? "cannot assign parameters before Module.__init__() call" : "cannot assign module before Module.__init__() call");
  wait_until_unused(*m, "Module.__setattr__");
  const std::string_view text = text_of(name);
  remove_from_dict(self, name);
  const Entry* old = m->find(text);
  if (old && old->kind != kind) {
    m->erase(text);
    old = nullptr;
  }
  if (!old && kind != Entry::Kind::module) register_entry(self, name, kind, value, persistent);
  else m->put(make_entry(text, kind, hooked_value(self, name, kind, value).ptr(), persistent));
}

// self.name = value where name is registered and value does not register itself. False: not the registry's business.
bool assign_to_entry(Module& m, std::string_view name, PyObject* value) {
  if (!m.find(name)) return false;
  wait_until_unused(m, "Module.__setattr__");
  Entry* e = m.find(name);
  if (!e) return false;
  const bool fits = value == Py_None || (e->kind == Entry::Kind::buffer && is_tensor(value));
  if (!fits) {
    const bool buffer = e->kind == Entry::Kind::buffer, module = e->kind == Entry::Kind::module;
    type_error("cannot assign '" + type_text(value) + "' as " + (module ? "child module" : kind_text(e->kind)) + " '" + std::string(name) +
               "' (" +
               (buffer      ? "pyburn.nn.Buffer, pyburn.Tensor"
                   : module ? "pyburn.nn.Module"
                            : "pyburn.nn.Parameter") +
               " or None expected)");
  }
  m.put(make_entry(name, e->kind, value, e->persistent));
  return true;
}

bool is_data_descriptor(PyTypeObject* type, PyObject* name) {
  PyObject* of_class = _PyType_Lookup(type, name);
  return of_class && PyDescr_IsData(of_class);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  nn::note_module_change();
  Module* m = ready_module(self);
  if (is_parameter(value)) {
    assign_registered(self, name, Entry::Kind::parameter, value);
    return follow_parameter(*m, name, true), 0;
  }
  if (is_module(value)) {
    const Entry* e = m ? m->find(text_of(name)) : nullptr;
    if (!e || e->kind != Entry::Kind::parameter) return assign_registered(self, name, Entry::Kind::module, value), 0;
  }
  if (!m) return PyObject_GenericSetAttr(self, name, value);
  const std::string_view text = text_of(name);
  if (PyObject* persistent = buffer_mark(value))
    if (const Entry* e = m->find(text); !e || e->kind == Entry::Kind::buffer)
      return assign_registered(self, name, Entry::Kind::buffer, value, PyObject_IsTrue(persistent) == 1), 0;
  if (!is_data_descriptor(Py_TYPE(self), name) && assign_to_entry(*m, text, value)) return follow_parameter(*m, name, value != Py_None), 0;
  if (option_of(*m, text).is_valid()) return set_option(*m, name, value), 0;
  if (text == "forward") m->call_host(true);  // C++ must not go past it
  follow_parameter(*m, name, value != Py_None);
  return PyObject_GenericSetAttr(self, name, value);
}

int delete_attribute(PyObject* self, PyObject* name) {
  nn::note_module_change();
  Module* m = ready_module(self);
  if (!m || !m->find(text_of(name))) return PyObject_GenericSetAttr(self, name, nullptr);
  wait_until_unused(*m, "Module.__delattr__");
  if (!m->find(text_of(name))) return 0;  // by another thread meanwhile
  m->erase(text_of(name));
  m->call_host(true);  // what takes its place may be a plain attribute, which C++ does not see
  return 0;
}

// ---- the methods

bool is_called_with(const char* method, Py_ssize_t expected, PyObject* const* args, Py_ssize_t count) {
  if (count != expected) PyErr_Format(PyExc_TypeError, "%s expected %zd arguments, got %zd", method, expected, count);
  else if (!PyUnicode_Check(args[0]))
    PyErr_Format(PyExc_TypeError, "attribute name must be string, not '%.200s'", Py_TYPE(args[0])->tp_name);
  else return true;
  return false;
}

template <class Change>
PyObject* changed(Change change) {
  try {
    if (change() == 0) Py_RETURN_NONE;
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

PyObject* setattr_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!is_called_with("__setattr__", 2, args, count)) return nullptr;
  return changed([&] { return set_attribute(self, args[0], args[1]); });
}
PyObject* delattr_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!is_called_with("__delattr__", 1, args, count)) return nullptr;
  return changed([&] { return delete_attribute(self, args[0]); });
}
PyObject* getattr_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return is_called_with("__getattr__", 1, args, count) ? registered_attribute(self, args[0]) : nullptr;
}

PyCFunction fast(_PyCFunctionFast function) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)); }

}  // namespace

const PyType_Slot module_attribute_slot = {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)};

bool has_own_attributes(const PyTypeObject* type) { return type->tp_getattro == get_attribute; }

// __setattr__ and __delattr__ are methods in the dict of the class, not slots of C: Python lets `object.__setattr__(module, ...)`, which
// public code uses, jump over methods only.
void add_attribute_methods(PyTypeObject* type) {
  static PyMethodDef methods[] = {
      {"__getattr__", fast(getattr_method), METH_FASTCALL, "__getattr__($self, name, /)\n--\n\nWhat the registry holds under a name."},
      {"__setattr__", fast(setattr_method), METH_FASTCALL,
          "__setattr__($self, name, value, /)\n--\n\nImplement setattr(self, name, value)."},
      {"__delattr__", fast(delattr_method), METH_FASTCALL, "__delattr__($self, name, /)\n--\n\nImplement delattr(self, name)."},
  };
  own_getattribute = _PyType_Lookup(type, interned("__getattribute__"));
  for (PyMethodDef& definition : methods) {  // set, not among the slots of the class, so that Python fills the slots of their names
    const Object method = checked(PyDescr_NewMethod(type, &definition));
    if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), definition.ml_name, method.get()) < 0) throw PythonError();
  }
  own_getattr = _PyType_Lookup(type, interned("__getattr__"));
  slot_of_getattr = std::exchange(type->tp_getattro, get_attribute);
}

// Python uses a slow path for every class derived from one with a __getattr__: __getattribute__ as a method, then __getattr__. If both are
// Module's, one function does the same. Adding a __getattr__ to a class later makes Python update the slot.
void use_own_attributes(PyTypeObject* type) {
  static PyObject *const getattr = interned("__getattr__"), *const getattribute = interned("__getattribute__");
  if (type->tp_getattro == slot_of_getattr && _PyType_Lookup(type, getattr) == own_getattr &&
      _PyType_Lookup(type, getattribute) == own_getattribute)
    type->tp_getattro = get_attribute;
}

nb::object option_of(Module& m, std::string_view name) {
  const AnyConfig config = m.config();
  return nn::lists(config.switches, name) ? nb::object() : field_object(*config.type, config.fields, name);
}

void follow_parameter(Module& m, PyObject* name, bool is_there) {
  const AnyConfig config = m.config();
  if (!nn::lists(config.switches, text_of(name))) return;
  if (field_object(*config.type, config.fields, text_of(name)).is_valid()) set_option(m, name, is_there ? Py_True : Py_False);
}

}  // namespace pyburn::python
