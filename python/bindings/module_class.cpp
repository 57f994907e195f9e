#include "module_class.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pyburn/nn/layer.h"
#include "pyburn/nn/parameter.h"
#include "python_fields.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

using nn::AnyConfig;
using nn::Entry;
using nn::Module;

// Null before Module.__init__ has run.
Module* ready_module(PyObject* self) { return nb::inst_ready(self) ? nb::inst_ptr<Module>(self) : nullptr; }

std::string_view text_of(PyObject* name) {
  Py_ssize_t size = 0;
  const char* s = PyUnicode_AsUTF8AndSize(name, &size);
  if (!s) throw nb::python_error();
  return {s, size_t(size)};
}

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

bool has_registration_hooks = false;

nb::object hooks_function(const char* name) { return nb::module_::import_("pyburn.nn.hooks").attr(name); }

// "pyburn.nn.ReLU", "int"
std::string type_text(PyObject* value) {
  const nb::handle type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  const std::string name = nb::cast<std::string>(type.attr("__qualname__")),
                    module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  return module == "builtins" ? name : module + "." + name;
}

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw PythonError();
}
[[noreturn]] void type_error(const std::string& text) { raise(PyExc_TypeError, text); }

const char* kind_text(Entry::Kind kind) {
  switch (kind) {
    case Entry::Kind::parameter:
      return "parameter";
    case Entry::Kind::buffer:
      return "buffer";
    case Entry::Kind::module:
      return "module";
  }
  return "";
}

bool is_parameter(PyObject* p) { return is_tensor(p) && unwrap(p).has(Flag::parameter); }

Entry make_entry(std::string_view name, Entry::Kind kind, PyObject* value, bool persistent = true) {
  Entry e{std::string(name), kind, persistent, {}, {}};
  if (value == Py_None) return e;
  if (kind == Entry::Kind::module) e.module = Ref<Module>(&unwrap_module(value));
  else e.tensor = unwrap(value);
  return e;
}

// The value to register, after the hooks that want to see it.
nb::object hooked_value(nb::handle self, nb::handle name, Entry::Kind kind, nb::handle value) {
  if (!has_registration_hooks) return nb::borrow(value);
  return hooks_function("registered_value")(kind_text(kind), self, name, value);
}

void check_value(std::string_view name, Entry::Kind kind, nb::handle value) {
  PyObject* v = value.ptr();
  if (kind == Entry::Kind::module) to_module(value);  // for its error
  if (kind == Entry::Kind::parameter && v != Py_None && !is_parameter(v))
    type_error(
        "cannot assign '" + type_text(v) + "' object to parameter '" + std::string(name) + "' (pyburn.nn.Parameter or None required)");
  if (kind == Entry::Kind::buffer && v != Py_None && !is_tensor(v))
    type_error("cannot assign '" + type_text(v) + "' object to buffer '" + std::string(name) + "' (pyburn Tensor or None required)");
}

// nn.Buffer(...) marks a tensor as one that registers itself. Null: not marked; else its `persistent`.
PyObject* buffer_mark(PyObject* p) {
  static PyObject *const mark = interned("_is_buffer"), *const persistent = interned("persistent");
  if (!is_tensor(p)) return nullptr;
  PyObject* dict = reinterpret_cast<TensorObject*>(p)->dict;
  return dict && PyDict_Contains(dict, mark) == 1 ? PyDict_GetItemWithError(dict, persistent) : nullptr;
}

// ---- attributes

// An option that C++ holds, such as the stride of a convolution; null if there is none of that name.
nb::object option_of(Module& m, PyObject* name) {
  const AnyConfig config = m.config();
  if (config.type == &attr_type<NoAttrs> || nn::lists(config.switches, text_of(name))) return {};
  const nb::dict options = fields_to_dict(*config.type, config.fields);
  PyObject* found = PyDict_GetItemWithError(options.ptr(), name);
  if (!found && PyErr_Occurred()) throw nb::python_error();
  return nb::borrow(found);
}
void set_option(Module& m, PyObject* name, PyObject* value) {
  nb::dict changed;
  changed[nb::handle(name)] = nb::handle(value);
  fields_from_dict(*m.config().type, m.config().fields, changed);
}

// An option that says whether there is a parameter of its name follows the parameter, so that the layer prints what it has.
void follow_parameter(Module& m, PyObject* name, bool is_there) {
  const AnyConfig config = m.config();
  if (config.type == &attr_type<NoAttrs> || !nn::lists(config.switches, text_of(name))) return;
  if (PyDict_Contains(fields_to_dict(*config.type, config.fields).ptr(), name) == 1) set_option(m, name, is_there ? Py_True : Py_False);
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  try {
    // A registered name is never an attribute of the instance or class as well, so the registry may go first.
    Module* m = ready_module(self);
    if (m)
      if (const Entry* e = m->find(text_of(name))) return entry_object(*e).release().ptr();
    PyObject* found = PyObject_GenericGetAttr(self, name);
    if (found || !m || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyObject *type, *value, *trace;  // the error is kept, unless it is an option of the layer
    PyErr_Fetch(&type, &value, &trace);
    const nb::object option = option_of(*m, name);
    if (!option.is_valid()) return PyErr_Restore(type, value, trace), nullptr;
    for (PyObject* o : {type, value, trace}) Py_XDECREF(o);
    return nb::object(option).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

bool belongs_to_class(PyObject* self, PyObject* name) {
  Object found(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(self)), name));
  if (!found) PyErr_Clear();
  return bool(found);
}

void remove_from_dict(PyObject* self, PyObject* name) {
  PyObject** dict = _PyObject_GetDictPtr(self);
  if (dict && *dict && PyDict_Contains(*dict, name) == 1) PyDict_DelItem(*dict, name);
}

bool dict_has(PyObject* self, PyObject* key) {
  PyObject** dict = _PyObject_GetDictPtr(self);
  return dict && *dict && PyDict_Contains(*dict, key) == 1;
}

// Hooks, or a forward of its own: C++ must not go past them.
bool has_own_calls(PyObject* self) {
  static PyObject *const hooks = interned("_pb_hooks"), *const forward = interned("forward");
  return dict_has(self, hooks) || dict_has(self, forward);
}

// self.name = value for a value that registers itself.
void assign_registered(PyObject* self, PyObject* name, Entry::Kind kind, PyObject* value, bool persistent = true) {
  Module* m = ready_module(self);
  const bool parameter = kind == Entry::Kind::parameter;
  if (!m)
    raise(PyExc_AttributeError,
        parameter ? "cannot assign parameters before Module.__init__() call" : "cannot assign module before Module.__init__() call");
  const std::string_view text = text_of(name);
  remove_from_dict(self, name);
  if (const Entry* old = m->find(text); old && old->kind != kind) m->erase(text);
  if (!m->find(text) && kind != Entry::Kind::module) register_entry(self, name, kind, value, persistent);
  else m->put(make_entry(text, kind, hooked_value(self, name, kind, value).ptr(), persistent));
}

// self.__class__ = cls, for another class around the same C++ layer. Python refuses it between a class that is bound and one
// that is written in Python, though their objects have one layout.
void change_class(PyObject* self, PyObject* cls) {
  if (!PyType_Check(cls)) type_error("__class__ must be set to a class, not '" + type_text(cls) + "' object");
  PyTypeObject *to = reinterpret_cast<PyTypeObject*>(cls), *from = Py_TYPE(self);
#ifdef Py_TPFLAGS_MANAGED_DICT
  const bool same_dict = !((to->tp_flags ^ from->tp_flags) & Py_TPFLAGS_MANAGED_DICT);
#else
  const bool same_dict = true;
#endif
  const bool fits = same_dict && nb::type_check(cls) && PyType_IsSubtype(to, reinterpret_cast<PyTypeObject*>(nb::type<Module>().ptr())) &&
                    nb::type_info(cls) == nb::type_info(reinterpret_cast<PyObject*>(from)) && to->tp_basicsize == from->tp_basicsize &&
                    to->tp_dictoffset == from->tp_dictoffset && to->tp_weaklistoffset == from->tp_weaklistoffset;
  if (!fits) type_error(std::string("__class__ assignment: '") + to->tp_name + "' object layout differs from '" + from->tp_name + "'");
  Py_INCREF(to);
  Py_SET_TYPE(self, to);
  Py_DECREF(from);
  if (Module* m = ready_module(self)) m->call_host(nb::detail::nb_inst_python_derived(self) || has_own_calls(self));
}

// self.name = value where name is registered and value does not register itself. False: not the registry's business.
bool assign_to_entry(Module& m, std::string_view name, PyObject* value) {
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

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  try {
    Module* m = ready_module(self);
    if (!value) {
      if (m && m->find(text_of(name))) {
        m->erase(text_of(name));
        m->call_host(true);  // what takes its place may be a plain attribute, which C++ does not see
        return 0;
      }
      return PyObject_GenericSetAttr(self, name, nullptr);
    }
    if (is_parameter(value)) {
      assign_registered(self, name, Entry::Kind::parameter, value);
      return m ? follow_parameter(*m, name, true) : void(), 0;
    }
    if (is_module(value) && !(m && m->find(text_of(name)) && m->find(text_of(name))->kind == Entry::Kind::parameter))
      return assign_registered(self, name, Entry::Kind::module, value), 0;
    if (PyObject* persistent = buffer_mark(value); persistent && m)
      if (const Entry* e = m->find(text_of(name)); !e || e->kind == Entry::Kind::buffer)
        return assign_registered(self, name, Entry::Kind::buffer, value, PyObject_IsTrue(persistent) == 1), 0;
    if (m && assign_to_entry(*m, text_of(name), value)) return follow_parameter(*m, name, value != Py_None), 0;
    if (text_of(name) == "__class__") return change_class(self, value), 0;
    if (m && option_of(*m, name).is_valid()) return set_option(*m, name, value), 0;
    if (m && text_of(name) == "forward") m->call_host(true);  // C++ must not go past it
    if (m) follow_parameter(*m, name, value != Py_None);
    return PyObject_GenericSetAttr(self, name, value);
  } catch (...) {
    set_python_error();
    return -1;
  }
}

// ---- calls

// How deep modules call each other on this thread. Python 3.12 and later do not count calls from C++ closely enough: a module below
// itself would use up the stack.
thread_local int call_depth = 0;
struct CallScope {
  CallScope() { ++call_depth; }
  ~CallScope() { --call_depth; }
  bool is_too_deep() const { return call_depth > Py_GetRecursionLimit(); }
};

// module(...) goes straight to its forward.
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject *const forward = interned("forward"), *const hooks_key = interned("_pb_hooks");
  const CallScope scope;
  if (scope.is_too_deep()) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded while calling a module");
    return nullptr;
  }
  if (!ready_module(self)) {
    PyErr_SetString(PyExc_AttributeError, "cannot call a module before Module.__init__() call");
    return nullptr;
  }
  if (Module::all_detours & Module::kHost || dict_has(self, hooks_key)) {
    Object hooks(PyImport_ImportModule("pyburn.nn.hooks"));
    Object function(hooks ? PyObject_GetAttrString(hooks.get(), "call_with_hooks") : nullptr);
    const Object none = kwargs ? Object::borrowed(kwargs) : Object(PyDict_New());
    return function && none ? PyObject_CallFunctionObjArgs(function.get(), self, args, none.get(), nullptr) : nullptr;
  }
  if (PyTuple_GET_SIZE(args) == 1 && (!kwargs || PyDict_GET_SIZE(kwargs) == 0))
    return PyObject_CallMethodOneArg(self, forward, PyTuple_GET_ITEM(args, 0));
  Object method(PyObject_GetAttr(self, forward));
  return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
}

// ---- garbage collection

// What m's registry keeps alive. A child that Python has never seen is passed through, if m alone holds it.
int visit_entries(const Module& m, visitproc visit, void* arg) {
  for (const Entry& e : m.entries()) {
    if (e.tensor.defined())
      if (const int stop = visit_kept(e.tensor, visit, arg)) return stop;
    if (!e.module) continue;
    if (void* object = e.module->host_object()) Py_VISIT(static_cast<PyObject*>(object));
    else if (e.module->use_count() == 1)
      if (const int stop = visit_entries(*e.module, visit, arg)) return stop;
  }
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_VISIT(*dict);
  if (const Module* m = ready_module(self)) return visit_entries(*m, visit, arg);
  return 0;
}

int clear(PyObject* self) {
  if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_CLEAR(*dict);
  if (Module* m = ready_module(self)) m->clear();
  return 0;
}

// ---- what C++ asks of Python

PyObject* object_of(const Module& m) { return static_cast<PyObject*>(m.host_object()); }

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

PyType_Slot* module_slots() {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
      {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
      {Py_tp_call, reinterpret_cast<void*>(call)},
      {0, nullptr},
  };
  return slots;
}

namespace {

initproc plain_class_init = nullptr;
setattrofunc plain_class_set_attribute = nullptr;

// The class of C++ that a class written in Python derives from.
PyTypeObject* native_class(PyTypeObject* type) {
  const auto handle_of = [](PyTypeObject* t) { return nb::handle(reinterpret_cast<PyObject*>(t)); };
  for (PyTypeObject* base = type->tp_base; base && nb::type_check(handle_of(base)); base = base->tp_base) {
    if (nb::type_info(handle_of(base)) != nb::type_info(handle_of(type))) break;
    type = base;
  }
  return type;
}

// The base whose class of C++ is or derives from that of every other one; null where there is none, or only one nanobind knows.
PyTypeObject* most_derived(PyObject* bases) {
  SmallVector<PyTypeObject*, 4> modules;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i)
    if (nb::type_check(PyTuple_GET_ITEM(bases, i))) modules.push_back(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i)));
  if (modules.size() < 2) return nullptr;
  for (PyTypeObject* one : modules)
    if (std::all_of(modules.begin(), modules.end(), [&](PyTypeObject* o) { return PyType_IsSubtype(native_class(one), native_class(o)); }))
      return one;
  return nullptr;
}

// nanobind takes one base of its own. Modules meet in one class all the time, class Net(Named, Encoder), and that is safe where one of
// them has the C++ class of all others: it alone is shown to nanobind. The order of methods is Python's, and made already.
template <class Then>
int with_one_base(PyObject* self, Then then) {
  auto* type = reinterpret_cast<PyTypeObject*>(self);
  PyTypeObject* shown = most_derived(type->tp_bases);
  if (!shown || shown->tp_basicsize != type->tp_base->tp_basicsize) return then();
  PyObject* one = PyTuple_Pack(1, reinterpret_cast<PyObject*>(shown));
  if (!one) return -1;
  Py_INCREF(shown);
  Py_DECREF(std::exchange(type->tp_base, shown));
  PyObject* bases = std::exchange(type->tp_bases, one);
  const int status = then();
  type->tp_bases = bases;
  Py_DECREF(one);
  return status;
}
int class_init(PyObject* self, PyObject* args, PyObject* kwargs) {
  return with_one_base(self, [&] { return plain_class_init(self, args, kwargs); });
}
int class_set_attribute(PyObject* self, PyObject* name, PyObject* value) {  // __init_subclass__ may come before class_init
  if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "__bases__") == 0)
    return plain_class_set_attribute(self, name, value);
  return with_one_base(self, [&] { return plain_class_set_attribute(self, name, value); });
}

}  // namespace

void allow_several_modules_as_bases(nb::handle module_class) {
  PyTypeObject* metaclass = Py_TYPE(module_class.ptr());
  if (plain_class_init) return;
  plain_class_init = metaclass->tp_init;
  metaclass->tp_init = class_init;
  plain_class_set_attribute = metaclass->tp_setattro;
  metaclass->tp_setattro = class_set_attribute;
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

void adopt(Module* m, PyObject* object) noexcept {
  m->adopt_by(object);
  m->call_host(nb::detail::nb_inst_python_derived(object));
}

namespace {

// Registers what the hooks make of an entry of m.
void ask_hooks(nb::handle self, Module& m, size_t number) {
  const Entry e = m.entries()[number];
  if (e.kind == Entry::Kind::parameter && !e.tensor.defined()) return;  // declared, absent
  const nb::object value = hooked_value(self, nb::str(e.name.c_str()), e.kind, entry_object(e));
  m.put(make_entry(e.name, e.kind, value.ptr(), e.persistent));
}

void announce(nb::handle self, Module& m) {
  for (size_t i = 0; i < m.entries().size(); ++i) {
    const Ref<Module> part = m.entries()[i].module;
    if (part && !part->host_object()) announce(module_object(part), *part);  // made in C++, too
    ask_hooks(self, m, i);
  }
}

}  // namespace

void announce_registrations(Module& made) {
  if (!has_registration_hooks) return;
  const nb::object self = nb::find(made);
  nb::inst_mark_ready(self);  // hooks may look at it
  announce(self, made);
}

void announce_last_registration(Module& m) {
  if (has_registration_hooks) ask_hooks(nb::find(m), m, m.entries().size() - 1);
}

void use_global_hooks(bool calls, bool registrations) {
  Module::all_detours = uint8_t(calls ? Module::all_detours | Module::kHost : Module::all_detours & ~Module::kHost);
  has_registration_hooks = registrations;
}

bool is_module(PyObject* p) {
  static PyObject* const type = nb::type<Module>().ptr();
  return PyObject_TypeCheck(p, reinterpret_cast<PyTypeObject*>(type));
}

Module& unwrap_module(PyObject* p) {
  Module* m = ready_module(p);
  if (!m) raise(PyExc_AttributeError, "cannot assign module before Module.__init__() call");
  return *m;
}

nb::object module_object(const Ref<Module>& m) {
  if (!m) return nb::none();
  if (PyObject* p = object_of(*m)) return nb::borrow(p);
  return nb::cast(m.get(), nb::rv_policy::take_ownership);
}

Ref<Module> to_module(nb::handle h) {
  if (h.is_none()) return {};
  if (!is_module(h.ptr())) type_error(type_text(h.ptr()) + " is not a Module subclass");
  return Ref<Module>(&unwrap_module(h.ptr()));
}

nb::object entry_object(const Entry& e) { return e.kind == Entry::Kind::module ? module_object(e.module) : nb::steal(wrap(e.tensor)); }

void register_entry(nb::handle self, nb::handle name, Entry::Kind kind, nb::handle value, bool persistent) {
  const std::string what = kind_text(kind);
  if (!PyUnicode_Check(name.ptr())) type_error(what + " name should be a string. Got " + type_text(name.ptr()));
  const std::string_view text = text_of(name.ptr());
  Module* m = ready_module(self.ptr());
  if (!m) raise(PyExc_AttributeError, "cannot assign " + what + " before Module.__init__() call");
  const Entry* old = m->find(text);
  if (text.empty()) raise(PyExc_KeyError, what + " name can't be empty string \"\"");
  if (text.find('.') != text.npos)
    raise(PyExc_KeyError, what + " name can't contain \"." + (kind == Entry::Kind::module ? "\", got: " + std::string(text) : "\""));
  PyObject** dict = _PyObject_GetDictPtr(self.ptr());
  const bool taken = (old && old->kind != kind) || (dict && *dict && PyDict_Contains(*dict, name.ptr()) == 1) ||
                     (!old && (belongs_to_class(self.ptr(), name.ptr()) || option_of(*m, name.ptr()).is_valid()));
  if (taken) raise(PyExc_KeyError, "attribute '" + std::string(text) + "' already exists");
  check_value(text, kind, value);
  put_entry(self, name, kind, hooked_value(self, name, kind, value), persistent);
}

void put_entry(nb::handle self, nb::handle name, Entry::Kind kind, nb::handle value, bool persistent) {
  const std::string_view text = text_of(name.ptr());
  check_value(text, kind, value);
  unwrap_module(self.ptr()).put(make_entry(text, kind, value.ptr(), persistent));
}

}  // namespace pyburn::python
