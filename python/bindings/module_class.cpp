#include "module_class.h"

#include <cstring>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "python_fields.h"
#include "tape_traverse.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

using nn::Entry;
using nn::Module;

// ---- garbage collection

// What m's registry keeps alive; the tensors are added to a list. A child that Python has never seen is passed through, if m alone holds
// it.
int visit_entries(const Module& m, std::vector<const TensorHandle*>& tensors, visitproc visit, void* arg) {
  for (const Entry& e : m.entries()) {
    if (e.tensor.defined()) tensors.push_back(&e.tensor);
    if (!e.module) continue;
    if (void* object = e.module->host_object()) Py_VISIT(static_cast<PyObject*>(object));
    else if (e.module->use_count() == 1)
      if (const int stop = visit_entries(*e.module, tensors, visit, arg)) return stop;
  }
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_object(self)->dict);
  const Module* m = ready_module(self);
  if (!m) return 0;
  std::vector<const TensorHandle*> tensors;
  const int stop = visit_entries(*m, tensors, visit, arg);
  return stop ? stop : traverse_held(tensors, visit, arg);
}

int clear(PyObject* self) {
  Py_CLEAR(as_object(self)->dict);
  if (Module* m = ready_module(self)) m->clear();
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_TRASHCAN_BEGIN(self, dealloc)  // of nested modules, which may be many
      if (as_object(self)->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(as_object(self)->dict);
  delete ready_module(self);
  type->tp_free(self);
  Py_DECREF(type);
  Py_TRASHCAN_END
}

// ---- attributes that are always there

PyObject* get_training(PyObject* self, void*) {
  if (const Module* m = ready_module(self)) return PyBool_FromLong(m->training());
  PyErr_SetString(PyExc_AttributeError, "cannot use a module before Module.__init__() call");
  return nullptr;
}
int set_training(PyObject* self, PyObject* value, void*) {  // without a value: as a module begins
  const int mode = value ? PyObject_IsTrue(value) : 1;
  if (mode < 0) return -1;
  if (Module* m = ready_module(self)) return m->set_training(mode == 1), 0;
  PyErr_SetString(PyExc_AttributeError, "cannot use a module before Module.__init__() call");
  return -1;
}

PyObject* get_class(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(self))); }

// Python checks the layout. Here: the methods of the new class must find the C++ module that they work on; and C++ must know whether to
// call Python.
int set_class(PyObject* self, PyObject* value, void*) {
  static PyObject *const own_calls[] = {interned("_pb_hooks"), interned("forward")}, *const plain = _PyType_Lookup(
                                                                                         &PyBaseObject_Type, interned("__class__"));
  auto* to = reinterpret_cast<PyTypeObject*>(value);
  Module* m = ready_module(self);
  if (m && value && PyType_Check(value) && PyType_IsSubtype(to, module_type) && !native_class(to).is_instance(*m)) {
    PyErr_Format(PyExc_TypeError, "__class__ assignment: '%s' object layout differs from '%s'", to->tp_name, Py_TYPE(self)->tp_name);
    return -1;
  }
  if (Py_TYPE(plain)->tp_descr_set(plain, self, value) < 0) return -1;
  use_own_attributes(to);
  if (m) m->call_host(!is_native_class(to) || dict_has(self, own_calls[0]) || dict_has(self, own_calls[1]));
  return 0;
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ModuleObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ModuleObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__class__", get_class, set_class, nullptr, nullptr},
    {"training", get_training, set_training, "Whether the module is in training mode.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---- classes

struct Classes {
  std::unordered_map<PyTypeObject*, NativeClass> native;
  std::unordered_map<std::type_index, PyTypeObject*> of_cpp;
};
Classes& classes() {
  static auto* all = new Classes;  // lives as long as the process
  return *all;
}

PyTypeObject* make_class(const char* name, const char* doc, PyTypeObject* base, std::vector<PyType_Slot> slots) {
  // Said for each class, as Python would fill these slots with its own functions.
  slots.push_back({Py_tp_dealloc, reinterpret_cast<void*>(dealloc)});
  slots.push_back({Py_tp_traverse, reinterpret_cast<void*>(traverse)});
  slots.push_back({Py_tp_clear, reinterpret_cast<void*>(clear)});
  slots.push_back({Py_tp_doc, const_cast<char*>(doc)});
  slots.push_back({0, nullptr});
  PyType_Spec spec = {name, int(sizeof(ModuleObject)), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  PyObject* made = PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base));
  if (!made) throw nb::python_error();
  auto* type = reinterpret_cast<PyTypeObject*>(made);
  type->tp_name = std::strrchr(type->tp_name, '.') + 1;  // without the module, as messages name the classes of class statements
  return type;
}

// ---- construction

// An empty module. Called once more, as by two base classes or by __setstate__, it empties the registry, as PyTorch's does.
void begin(PyObject* self) {
  Module* m = ready_module(self);
  if (!m) return adopt(self, native_class(Py_TYPE(self)).make_unfilled(nb::none()));
  m->clear();
  m->set_training(true);
  m->call_host(true);  // what takes the place of an entry may be a plain attribute, which C++ does not see
}

// Runs the next __init__ of a class statement between cls and Module; false if there is none.
bool run_mixin(PyObject* self, PyTypeObject* cls) {
  static PyObject* const name = interned("__init__");
  if (Py_TYPE(self) == cls) return false;
  PyObject* mro = Py_TYPE(self)->tp_mro;
  bool behind = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (type == module_type) return false;
    if (behind && !is_native_class(type) && type->tp_dict && PyDict_Contains(type->tp_dict, name) == 1) {
      const Object init = checked(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
      checked(PyObject_CallOneArg(init.get(), self));
      return true;
    }
    behind |= type == cls;
  }
  return false;
}

// Gives m the options and the entries of another layer of its kind.
void refill(Module& m, Module& from) {
  fields_from_dict(*m.config().type, m.config().fields, fields_to_dict(*from.config().type, from.config().fields));
  for (const Entry& e : from.entries()) m.put(e);
}

// Module.__init__(*args, **kwargs)
PyObject* init_module(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  static PyObject *const chains_key = interned("call_super_init"), *const init = interned("__init__");
  const Object chains(PyObject_GetAttr(self, chains_key));
  const int chained = chains ? PyObject_IsTrue(chains.get()) : -1;
  if (chained < 0) return nullptr;
  const char* cls = Py_TYPE(self)->tp_name;
  if (!chained && names && PyTuple_GET_SIZE(names) > 0)
    return PyErr_Format(PyExc_TypeError, "%s.__init__() got an unexpected keyword argument '%U'", cls, PyTuple_GET_ITEM(names, 0));
  if (!chained && count > 0)
    return PyErr_Format(PyExc_TypeError, "%s.__init__() takes 1 positional argument but %zd were given", cls, count + 1);
  try {
    begin(self);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
  if (!chained) Py_RETURN_NONE;
  const Object super(
      PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), reinterpret_cast<PyObject*>(module_type), self, nullptr));
  const Object next(super ? PyObject_GetAttr(super.get(), init) : nullptr);
  return next ? PyObject_Vectorcall(next.get(), args, size_t(count), names) : nullptr;
}

}  // namespace

bool is_native_class(PyTypeObject* type) { return type->tp_dealloc == dealloc; }

PyTypeObject* group_module_classes(const char* name, const char* doc, PyTypeObject* base) { return make_class(name, doc, base, {}); }

PyTypeObject* make_module_class(const char* name, const char* doc, PyTypeObject* base, const std::type_info* cpp, NativeClass native) {
  PyTypeObject* type = make_class(name, doc, base, {});
  classes().native.emplace(type, native);
  classes().of_cpp.emplace(*cpp, type);
  return type;
}

void make_module_type() {
  install_module_host();
  module_type = make_class("pyburn.nn.Module",
      "Base class of all neural network modules: parameters, buffers and modules set as attributes register themselves.", nullptr,
      {{Py_tp_members, members}, {Py_tp_getset, attributes}, {Py_tp_call, reinterpret_cast<void*>(call_module)}, module_attribute_slot});
  const NativeClass native = {[](nb::handle) { return make_ref<Module>(); }, [](const Module&) { return true; }};
  classes().native.emplace(module_type, native);
  add_attribute_methods(module_type);
  static PyMethodDef init = {"__init__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(init_module)), METH_FASTCALL | METH_KEYWORDS,
      "An empty module, ready for parameters, buffers and modules."};
  add_method(module_type, init.ml_name, checked(PyDescr_NewMethod(module_type, &init)).get());
}

PyTypeObject* class_of(const std::type_info& cpp) {
  const auto found = classes().of_cpp.find(cpp);
  return found == classes().of_cpp.end() ? module_type : found->second;
}

void wrap_methods_of_modules() {
  for (const auto& [type, native] : classes().native) wrap_methods(type);
}

const NativeClass& native_class(PyTypeObject* type) {
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* one = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (!is_native_class(one)) continue;
    if (const auto found = classes().native.find(one); found != classes().native.end()) return found->second;
  }
  type_error(std::string(type->tp_name) + " is not a Module subclass");
}

void initialise(PyObject* self, PyTypeObject* cls, const std::function<Ref<Module>()>& make) {
  if (!is_module(self)) type_error(type_text(self) + " is not a Module subclass");
  const bool mixed = run_mixin(self, cls);
  const Ref<Module> fresh = make();
  const bool is_own = Py_TYPE(self) == cls || native_class(Py_TYPE(self)).is_instance(*fresh);
  if (!ready_module(self) && is_own) {
    adopt(self, fresh);
  } else {
    if (!ready_module(self)) begin(self);
    Module& m = *ready_module(self);
    if (!classes().native.at(cls).is_instance(m))
      type_error("[" + fresh->type_name() + "] __init__ of another layer: expected a " + fresh->type_name() + ", got a " + m.type_name());
    if (!mixed) begin(self);
    refill(m, *fresh);
  }
  announce_registrations(self);
}

}  // namespace pyburn::python
