// What all module classes share in Python: attributes that register themselves, calls, garbage collection.
#pragma once
#include <nanobind/nanobind.h>

#include "objects.h"
#include "pyburn/nn/module.h"

namespace pyburn::python {

// Slots for every bound module class. A slot on the base class alone would leave its subclasses' cycles uncollected.
PyType_Slot* module_slots();

bool is_module(PyObject* p);
nn::Module& unwrap_module(PyObject* p);                    // p is a module whose __init__ has run
nanobind::object module_object(const Ref<nn::Module>& m);  // the same object while it lives; None if null
Ref<nn::Module> to_module(nanobind::handle h);             // TypeError unless a module; null for None
void adopt(nn::Module* m, PyObject* object) noexcept;      // the Python object of m takes over its references
void allow_several_modules_as_bases(nanobind::handle module_class);
void install_module_host();  // before the first module is made

void use_global_hooks(bool calls, bool registrations);  // whether hooks of all modules have to be asked for
// At the end of a constructor: tells those hooks what it registered in C++.
void announce_registrations(nn::Module& made);
void announce_last_registration(nn::Module& m);  // the same for what a method has added

nanobind::object entry_object(const nn::Entry& e);
// Registers `value` under a name: the checks and messages of PyTorch.
void register_entry(nanobind::handle self, nanobind::handle name, nn::Entry::Kind kind, nanobind::handle value, bool persistent);
// The same without the checks of the name.
void put_entry(nanobind::handle self, nanobind::handle name, nn::Entry::Kind kind, nanobind::handle value, bool persistent);

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
