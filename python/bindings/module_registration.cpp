// What modules register, from Python and in C++, and the hooks of all modules that want to see it.
#include "module_class.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

using nn::Entry;
using nn::Module;

bool has_registration_hooks = false;

nb::object hooks_function(const char* name) { return nb::module_::import_("pyburn.nn.hooks").attr(name); }

void check_value(std::string_view name, Entry::Kind kind, nb::handle value) {
  PyObject* v = value.ptr();
  if (kind == Entry::Kind::module) to_module(value);  // for its error
  if (kind == Entry::Kind::parameter && v != Py_None && !is_parameter(v))
    type_error(
        "cannot assign '" + type_text(v) + "' object to parameter '" + std::string(name) + "' (pyburn.nn.Parameter or None required)");
  if (kind == Entry::Kind::buffer && v != Py_None && !is_tensor(v))
    type_error("cannot assign '" + type_text(v) + "' object to buffer '" + std::string(name) + "' (pyburn Tensor or None required)");
}

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

void use_global_hooks(bool calls, bool registrations) {
  Module::all_detours = uint8_t(calls ? Module::all_detours | Module::kHost : Module::all_detours & ~Module::kHost);
  has_registration_hooks = registrations;
}

void announce_registrations(PyObject* made) {
  if (has_registration_hooks) announce(made, unwrap_module(made));
}

void announce_last_registration(Module& m) {
  if (has_registration_hooks) ask_hooks(module_object(Ref<Module>(&m)), m, m.entries().size() - 1);
}

nb::object hooked_value(nb::handle self, nb::handle name, Entry::Kind kind, nb::handle value) {
  if (!has_registration_hooks) return nb::borrow(value);
  return hooks_function("registered_value")(kind_text(kind), self, name, value);
}

bool is_parameter(PyObject* p) { return is_tensor(p) && unwrap(p).has(Flag::parameter); }

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

nb::object entry_object(const Entry& e) { return e.kind == Entry::Kind::module ? module_object(e.module) : nb::steal(wrap(e.tensor)); }

Entry make_entry(std::string_view name, Entry::Kind kind, PyObject* value, bool persistent) {
  Entry e{std::string(name), kind, persistent, {}, {}};
  if (value == Py_None) return e;
  if (kind == Entry::Kind::module) e.module = Ref<Module>(&unwrap_module(value));
  else e.tensor = unwrap(value);
  return e;
}

void register_entry(nb::handle self, nb::handle name, Entry::Kind kind, nb::handle value, bool persistent) {
  const std::string what = kind_text(kind);
  if (!PyUnicode_Check(name.ptr())) type_error(what + " name should be a string. Got " + type_text(name.ptr()));
  if (!is_module(self.ptr())) type_error(type_text(self.ptr()) + " is not a Module subclass");
  const std::string_view text = text_of(name.ptr());
  Module* m = ready_module(self.ptr());
  if (!m) raise(PyExc_AttributeError, "cannot assign " + what + " before Module.__init__() call");
  const Entry* old = m->find(text);
  if (text.empty()) raise(PyExc_KeyError, what + " name can't be empty string \"\"");
  if (text.find('.') != text.npos)
    raise(PyExc_KeyError, what + " name can't contain \"." + (kind == Entry::Kind::module ? "\", got: " + std::string(text) : "\""));
  const bool taken = (old && old->kind != kind) || dict_has(self.ptr(), name.ptr()) ||
                     (!old && (_PyType_Lookup(Py_TYPE(self.ptr()), name.ptr()) || option_of(*m, text).is_valid()));
  if (taken) raise(PyExc_KeyError, "attribute '" + std::string(text) + "' already exists");
  check_value(text, kind, value);
  put_entry(self, name, kind, hooked_value(self, name, kind, value), persistent);
}

void put_entry(nb::handle self, nb::handle name, Entry::Kind kind, nb::handle value, bool persistent) {
  if (!is_module(self.ptr())) type_error(type_text(self.ptr()) + " is not a Module subclass");
  const std::string_view text = text_of(name.ptr());
  check_value(text, kind, value);
  unwrap_module(self.ptr()).put(make_entry(text, kind, value.ptr(), persistent));
}

}  // namespace pyburn::python
