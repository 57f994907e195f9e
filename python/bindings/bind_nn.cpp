// Module and the layers. Methods that need no C++ are added in python/pyburn/nn.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "layer_class.h"
#include "pyburn/nn/nn.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using nn::Entry;
using nn::Module;

nb::list named(const nn::NamedTensors& tensors) {
  nb::list list;
  for (const auto& [name, t] : tensors) list.append(nb::make_tuple(name, nb::cast(t)));
  return list;
}
nb::list named(const nn::NamedModules& modules) {
  nb::list list;
  for (const auto& [name, m] : modules) list.append(nb::make_tuple(name, module_object(m)));
  return list;
}

// What a checkpoint holds; what is no tensor becomes an undefined one, which loading reports.
nn::NamedTensors tensors_of(nb::handle mapping) {
  nn::NamedTensors state;
  for (nb::handle item : mapping.attr("items")()) {
    const nb::handle value = item[1];
    state.emplace_back(nb::cast<std::string>(item[0]), is_tensor(value.ptr()) ? TensorHandle(unwrap(value.ptr())) : TensorHandle());
  }
  return state;
}

void bind_module(nb::module_& m) {
  nb::class_<Module> c(m, "Module", nb::type_slots(module_slots()), nb::dynamic_attr(), nb::is_weak_referenceable(),
      nb::intrusive_ptr<Module>([](Module* self, PyObject* object) noexcept { adopt(self, object); }),
      "Base class of all neural network modules: parameters, buffers and modules set as attributes register themselves.");
  c.attr("__module__") = "pyburn.nn";
  add_unfilled_maker(c, make_unfilled<Module>);
  c.def(nb::init<>())
      .def(
          "forward", [](Module& self, nb::args, nb::kwargs) { self.forward({}); }, "Computes the result of a call; subclasses define it.")
      .def_prop_rw("training", &Module::training, &Module::set_training, "Whether the module is in training mode.")
      .def("_train", &Module::train)
      .def("_named_parameters", [](Module& self, const std::string& prefix, bool recurse,
                                    bool once) { return named(self.named_parameters(prefix, recurse, once)); })
      .def("_named_buffers",
          [](Module& self, const std::string& prefix, bool recurse, bool once) { return named(self.named_buffers(prefix, recurse, once)); })
      .def("_named_modules", [](Module& self, const std::string& prefix, bool once) { return named(self.named_modules(prefix, once)); })
      .def("_named_children", [](Module& self) { return named(self.named_children()); })
      .def("_state_dict", [](Module& self, const std::string& prefix, bool keep_vars) { return named(self.state_dict(prefix, keep_vars)); })
      .def("_load_state_dict",
          [](Module& self, nb::handle state, bool strict, bool assign) {
            const nn::IncompatibleKeys keys = self.load_state_dict(tensors_of(state), strict, assign);
            return std::pair(keys.missing_keys, keys.unexpected_keys);
          })
      .def("_entries",
          [](Module& self) {
            nb::list list;
            for (const Entry& e : self.entries()) list.append(nb::make_tuple(e.name, int(e.kind), entry_object(e), e.persistent));
            return list;
          })
      .def(
          "_register",
          [](nb::handle self, nb::handle name, int kind, nb::handle value, bool persistent) {
            register_entry(self, name, Entry::Kind(kind), value, persistent);
          },
          "name"_a, "kind"_a, "value"_a.none(), "persistent"_a)
      .def("_call_host", &Module::call_host)
      .def("_to_device", [](Module& self, nb::handle device) { self.to(to_device(device.ptr())); })
      .def("_to_dtype", [](Module& self, nb::handle dtype) { self.to(to_dtype(dtype.ptr())); })
      .def("_extra_repr", &Module::extra_repr)
      .def("_config", [](Module& self) { return fields_to_dict(*self.config().type, self.config().fields); })
      .def("zero_grad", &Module::zero_grad, "set_to_none"_a = true, "Resets the gradients of all parameters.")
      .def("_requires_grad", &Module::requires_grad_)
      .def_static("_unfilled", unfilled)
      .def_static("_text", nn::module_text);
}

// Anything may pass from module to module in Python, so the chain runs over objects.
nb::object run_chain(nn::Sequential& self, nb::object value) {
  for (size_t i = 0; i < self.entries().size(); ++i) {
    const Ref<Module> m = self.entries()[i].module;
    if (m) value = module_object(m)(value);
  }
  return value;
}

void bind_containers(nb::module_& m) {
  bind_module_class<nn::Sequential>(m, "Sequential",
      "Modules that run one after another.\n\n>>> pyburn.nn.Sequential(pyburn.nn.Linear(3, 2), pyburn.nn.ReLU())(pyburn.ones(3)).shape")
      .def("__init__",
          [](nn::Sequential* self, nb::args modules) {
            nn::NamedModules list;
            if (modules.size() == 1 && PyDict_Check(modules[0].ptr()))
              for (nb::handle item : modules[0].attr("items")()) list.emplace_back(nb::cast<std::string>(item[0]), to_module(item[1]));
            else
              for (size_t i = 0; i < modules.size(); ++i) list.emplace_back(std::to_string(i), to_module(modules[i]));
            new (self) nn::Sequential(std::move(list));
          })
      .def("forward", run_chain, "input"_a.none())
      .def(
          "append",
          [](nb::object self, nb::handle module) {
            nb::cast<nn::Sequential&>(self).append(to_module(module));
            return self;
          },
          "module"_a, "Adds a module at the end.")
      .def("__len__", &nn::Sequential::size)
      .def("_at", [](nn::Sequential& self, int64_t index) { return module_object(self.at(index)); });
}

}  // namespace

void bind_nn(nb::module_& m) {
  install_module_host();
  m.def("_make_parameter", [](nb::handle cls, const TensorHandle& data, bool requires_grad) {
    return nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), nn::Parameter(data, requires_grad)));
  });
  m.def("_set_parameter_class", [](nb::handle cls) { Py_XSETREF(parameter_type, cls.inc_ref().ptr()); });
  nb::module_ n = m.def_submodule("_nn");
  bind_module(n);
  bind_layers(n);
  bind_containers(n);
}

}  // namespace pyburn::python
