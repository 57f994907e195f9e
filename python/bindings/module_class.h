// Python classes of modules: creation, construction, and attribute access.
#pragma once
#include <functional>

#include "module_object.h"

namespace pyburn::python {

// ---- classes

// The C++ implementation of a class.
struct NativeClass {
  std::function<Ref<nn::Module>(nanobind::handle config)> make_unfilled;  // with options from a dict, or None, and an empty registry
  std::function<bool(const nn::Module&)> is_instance;
};
// A class without a NativeClass groups others: _ConvNd. `name` is qualified, and must live until the process ends.
PyTypeObject* make_module_class(const char* name, const char* doc, PyTypeObject* base, const std::type_info* cpp, NativeClass native);
PyTypeObject* group_module_classes(const char* name, const char* doc, PyTypeObject* base);
void make_module_type();                              // Module itself, before all others
PyTypeObject* class_of(const std::type_info& cpp);    // Module, if the class has no base of its own
const NativeClass& native_class(PyTypeObject* type);  // of the first class in its MRO that has one

// `__init__` of class cls. Mixins between the class and Module run first, as with super().__init__() of PyTorch's layers. A second call
// starts over.
void initialise(PyObject* self, PyTypeObject* cls, const std::function<Ref<nn::Module>()>& make);

// Makes nanobind's methods behave like Python's: a signature for inspect, and bound methods of types.MethodType. Call it after all classes
// have them.
void wrap_methods_of_modules();
void wrap_methods(PyTypeObject* type);
void add_method(PyTypeObject* type, const char* name, PyObject* function);  // as above for a Python callable

// ---- attributes

extern const PyType_Slot module_attribute_slot;
void add_attribute_methods(PyTypeObject* type);     // __getattr__, __setattr__, __delattr__
bool has_own_attributes(const PyTypeObject* type);  // attributes are looked up by Module, bypassing any __getattr__
void use_own_attributes(PyTypeObject* type);        // if no class before Module has a __getattr__ or __getattribute__

// ---- registration

void use_global_hooks(bool calls, bool registrations);  // whether hooks of all modules must be called
// At the end of a constructor: passes what it registered in C++ to those hooks.
void announce_registrations(PyObject* made);
void announce_last_registration(nn::Module& m);  // as above for objects added by a method
// The value to register, after the hooks that observe it.
nanobind::object hooked_value(nanobind::handle self, nanobind::handle name, nn::Entry::Kind kind, nanobind::handle value);

bool is_parameter(PyObject* p);
const char* kind_text(nn::Entry::Kind kind);
nanobind::object entry_object(const nn::Entry& e);
nn::Entry make_entry(std::string_view name, nn::Entry::Kind kind, PyObject* value, bool persistent = true);
// Registers `value` under a name, with PyTorch's checks and messages.
void register_entry(nanobind::handle self, nanobind::handle name, nn::Entry::Kind kind, nanobind::handle value, bool persistent);
// As above without checking the name.
void put_entry(nanobind::handle self, nanobind::handle name, nn::Entry::Kind kind, nanobind::handle value, bool persistent);
// An option stored in C++, such as the stride of a convolution; null if there is none of that name.
nanobind::object option_of(nn::Module& m, std::string_view name);
// An option that says whether there is a parameter of its name is updated with the parameter, so that the layer prints correctly.
void follow_parameter(nn::Module& m, PyObject* name, bool is_there);

// ---- the classes themselves

void bind_module(nanobind::module_& m);
void bind_layers(nanobind::module_& m);
void bind_layers_activation(nanobind::module_& m);
void bind_layers_attention(nanobind::module_& m);
void bind_layers_conv(nanobind::module_& m);
void bind_layers_dropout(nanobind::module_& m);
void bind_layers_embedding(nanobind::module_& m);
void bind_layers_loss(nanobind::module_& m);
void bind_layers_norm(nanobind::module_& m);
void bind_layers_padding(nanobind::module_& m);
void bind_layers_pooling(nanobind::module_& m);
void bind_layers_rnn(nanobind::module_& m);
void bind_layers_shape(nanobind::module_& m);
void bind_containers(nanobind::module_& m);
void bind_initialisers(nanobind::module_& m);  // nn.init, and gradients in nn.utils
void bind_nn_utils(nanobind::module_& m);      // the rest of nn.utils

}  // namespace pyburn::python
