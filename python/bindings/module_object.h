// The Python object of a module. Module and the layers are implemented with the C API, so that their metaclass is `type`.
#pragma once
#include <nanobind/nanobind.h>

#include <concepts>
#include <typeinfo>

#include "objects.h"
#include "pyburn/nn/module.h"

namespace pyburn::python {

// All module classes have this layout: any of them can be combined as bases, and an object may change its class.
struct ModuleObject {
  PyObject_HEAD nn::Module* module;  // owned; null before Module.__init__
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* module_type;  // pyburn.nn.Module

inline ModuleObject* as_object(PyObject* p) { return reinterpret_cast<ModuleObject*>(p); }
inline bool is_module(PyObject* p) { return PyObject_TypeCheck(p, module_type); }
inline nn::Module* ready_module(PyObject* p) { return as_object(p)->module; }  // null before Module.__init__
nn::Module& unwrap_module(PyObject* p);                                        // AttributeError before Module.__init__
nanobind::object module_object(const Ref<nn::Module>& m);                      // the same object while it lives; None if null
Ref<nn::Module> to_module(nanobind::handle h);                                 // TypeError unless a module; null for None
// `self`, whose __init__ is running, takes over `m` and the references to it.
void adopt(PyObject* self, const Ref<nn::Module>& m);

bool is_native_class(PyTypeObject* type);  // defined in C++, not by a class statement
bool dict_has(PyObject* self, PyObject* key);
PyObject* interned(const char* text);
std::string_view text_of(PyObject* name);
std::string type_text(PyObject* value);  // "pyburn.nn.ReLU", "int"
[[noreturn]] void raise(PyObject* type, const std::string& text);
[[noreturn]] void type_error(const std::string& text);

PyObject* call_module(PyObject* self, PyObject* args, PyObject* kwargs);  // module(...)
void install_module_host();                                               // before the first module is created

// The C++ module of p as an M; null if it has another type, or is not initialised.
template <class M>
M* module_as(PyObject* p) {
  nn::Module* m = ready_module(p);
  if constexpr (std::is_same_v<M, nn::Module>) return m;
  else return m && typeid(*m) == typeid(M) ? static_cast<M*>(m) : dynamic_cast<M*>(m);
}

}  // namespace pyburn::python

namespace nanobind::detail {

// Type caster for modules in nanobind functions, as references. (An incomplete class converts to no other, so it can be queried.)
template <class M>
requires std::convertible_to<M*, pyburn::nn::Module*>
struct type_caster<M> {
  static constexpr auto Name = const_name("Module");
  template <class T>
  using Cast = precise_cast_t<T>;
  template <class T>
  bool can_cast() const noexcept {
    return true;
  }
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (!pyburn::python::is_module(src.ptr())) return false;
    value = pyburn::python::module_as<M>(src.ptr());
    return value || !pyburn::python::ready_module(src.ptr());
  }
  explicit operator M*() {
    if (!value) throw attribute_error("cannot use a module before Module.__init__() call");
    return value;
  }
  explicit operator M&() { return *operator M*(); }
  M* value;
};

}  // namespace nanobind::detail
