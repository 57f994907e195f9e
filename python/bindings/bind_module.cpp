// Module. Methods that need no C++ are added in python/pyburn/nn.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "layer_class.h"
#include "pyburn/nn/module_state.h"
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

std::string text_of_key(nb::handle key) {
  if (!PyUnicode_Check(key.ptr())) throw nb::type_error("the keys of a state dict are strings");
  return nb::cast<std::string>(key);
}

// One module's share of a checkpoint: (missing keys, unexpected keys, errors).
nb::tuple load_own(
    Module& self, nb::handle state, const std::string& prefix, std::optional<int64_t> version, bool assign, bool has_extra_state) {
  nn::NamedTensors tensors;
  for (nb::handle item : state.attr("items")()) {
    const std::string key = text_of_key(item[0]);
    const nb::object value = item[1];
    if (key.starts_with(prefix)) tensors.emplace_back(key, is_tensor(value.ptr()) ? TensorHandle(unwrap(value.ptr())) : TensorHandle());
  }
  nn::StateLoad load{.assign = assign, .version = version, .has_extra_state = has_extra_state};
  load.type_of = [&](const std::string& key) { return nb::cast<std::string>(nb::str(nb::object(state[key.c_str()]).type())); };
  self.load_own(load, tensors, prefix);
  return nb::make_tuple(load.missing_keys, load.unexpected_keys, load.errors);
}

void raise_load_errors(const std::string& type_name, std::vector<std::string> missing, std::vector<std::string> unexpected,
    std::vector<std::string> errors, bool strict) {
  nn::StateLoad load;
  load.missing_keys = std::move(missing), load.unexpected_keys = std::move(unexpected), load.errors = std::move(errors);
  load.raise_errors(type_name, strict);
}

Entry::Kind kind_of(int kind) {
  if (kind < 0 || kind > int(Entry::Kind::module)) throw nb::value_error("no such kind of entry");
  return Entry::Kind(kind);
}

nb::list entries(Module& self, int kind) {
  nb::list list;
  for (const Entry& e : self.entries())
    if (kind < 0 || e.kind == Entry::Kind(kind)) list.append(nb::make_tuple(e.name, int(e.kind), entry_object(e), e.persistent));
  return list;
}

void set_children(Module& self, nb::handle pairs) {
  nn::NamedModules children;
  for (nb::handle pair : pairs) children.emplace_back(nb::cast<std::string>(pair[0]), to_module(nb::object(pair[1])));
  self.set_children(std::move(children));
}

// A module made in C++, of a class that Python does not know, runs its own forward of one tensor. Module itself raises, and so do classes
// that are bound without a forward, such as ModuleList.
TensorHandle forward(Module& self, nb::args args, nb::kwargs named) {
  if (typeid(self) == typeid(Module) || class_of(typeid(self)) != module_type) return self.Module::forward({});
  if (args.size() != 1 || named.size() != 0 || !is_tensor(args[0].ptr()))
    type_error(self.type_name() + ".forward() takes one Tensor, unless its class says otherwise");
  const TensorHandle x = unwrap(nb::object(args[0]).ptr());
  const ComputesWith released(x.numel() >= 1 << 14, self, x);  // worth it
  return self.forward(x);
}

}  // namespace

void bind_module(nb::module_& m) {
  m.def("_use_global_hooks", use_global_hooks);
  make_module_type();
  ModuleClass<Module> c(module_type);
  m.attr("Module") = c;
  c.def("forward", forward, "Computes the result of a call; subclasses define it.")
      .def_prop_ro("_version", &Module::state_version)
      .def_prop_ro("_pb_folds_repeated_children", &Module::folds_repeated_children)
      .def("_pb_train", &Module::train)
      .def("_pb_named_parameters", [](Module& self, const std::string& prefix, bool recurse,
                                       bool once) { return named(self.named_parameters(prefix, recurse, once)); })
      .def("_pb_named_buffers",
          [](Module& self, const std::string& prefix, bool recurse, bool once) { return named(self.named_buffers(prefix, recurse, once)); })
      .def("_pb_named_modules", [](Module& self, const std::string& prefix, bool once) { return named(self.named_modules(prefix, once)); })
      .def("_pb_named_children", [](Module& self) { return named(self.named_children()); })
      .def("_pb_save_own",
          [](Module& self, const std::string& prefix, bool keep_vars) {
            nn::NamedTensors state;
            self.save_own(state, prefix, keep_vars);
            return named(state);
          })
      .def("_pb_load_own", load_own, "state"_a, "prefix"_a, "version"_a.none(), "assign"_a, "has_extra_state"_a)
      .def_static("_pb_raise_load_errors", raise_load_errors)
      .def("_pb_entries", entries, "kind"_a = -1)
      .def("_pb_set_children", set_children)
      .def(
          "_pb_register",
          [](nb::handle self, nb::handle name, int kind, nb::handle value, bool persistent) {
            register_entry(self, name, kind_of(kind), value, persistent);
          },
          "name"_a.none(), "kind"_a, "value"_a.none(), "persistent"_a)
      .def(
          "_pb_put",
          [](nb::handle self, nb::handle name, int kind, nb::handle value, bool persistent) {
            put_entry(self, name, kind_of(kind), value, persistent);
          },
          "name"_a, "kind"_a, "value"_a.none(), "persistent"_a)
      .def("_pb_erase",
          [](Module& self, const std::string& name) {
            self.erase(name);
            self.call_host(true);  // what takes its place may be a plain attribute, which C++ does not see
          })
      .def("_pb_call_host", &Module::call_host)
      .def("_pb_transform",
          [](Module& self, nb::object change) {
            self.transform_own([&](const TensorHandle& t) { return nb::cast<TensorHandle>(change(nb::cast(t))); });
          })
      .def("_pb_extra_repr", &Module::extra_repr)
      .def("_pb_config", [](Module& self) { return fields_to_dict(*self.config().type, self.config().fields); })
      .def("zero_grad", &Module::zero_grad, "set_to_none"_a = true, "Resets the gradients of all parameters.")
      .def("_pb_requires_grad", &Module::requires_grad_)
      .def_static("_pb_unfilled", unfilled)
      .def_static("_pb_repeats_folded", nn::repeats_folded)
      .def_static("_pb_text", nn::module_text);
}

}  // namespace pyburn::python
