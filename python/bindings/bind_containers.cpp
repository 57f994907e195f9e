// Sequential, ModuleList, ModuleDict. Their Python methods are in python/pyburn/nn/containers.py.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "layer_class.h"
#include "pyburn/nn/module_dict.h"
#include "pyburn/nn/module_list.h"
#include "pyburn/nn/sequential.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using nn::Module;

// Anything may pass from module to module in Python, so the chain runs over objects.
nb::object run_chain(nn::Sequential& self, nb::object value) {
  for (size_t i = 0; i < self.entries().size(); ++i) {
    const Ref<Module> m = self.entries()[i].module;
    if (m) value = module_object(m)(value);
  }
  return value;
}

std::vector<Ref<Module>> modules_of(nb::handle iterable) {
  std::vector<Ref<Module>> list;
  for (nb::handle m : iterable) list.push_back(to_module(m));
  return list;
}

// From a mapping or pairs. A child must not hide an attribute of its container.
nn::NamedModules children_of_dict(nb::handle modules) {
  nn::NamedModules list;
  if (modules.is_none()) return list;
  for (nb::handle pair : nb::module_::import_("pyburn.nn.containers").attr("pairs_of")(modules, "ModuleDict")) {
    const std::string key = nb::cast<std::string>(pair[0]);
    if (nb::hasattr(reinterpret_cast<PyObject*>(class_of(typeid(nn::ModuleDict))), key.c_str()))
      throw nb::key_error(("attribute '" + key + "' already exists").c_str());
    list.emplace_back(key, to_module(nb::object(pair[1])));
  }
  return list;
}

// What containers with numbered children share.
template <class S>
ModuleClass<S> bind_sequence(nb::module_& m, const char* name, const char* doc) {
  return bind_module_class<S>(m, name, doc)
      .def("__len__", &S::size)
      .def(
          "append",
          [](S& self, nb::handle module) {
            self.append(to_module(module));
            announce_last_registration(self);
            return module_object(Ref<Module>(&self));
          },
          "module"_a.none(), "Adds a module at the end.")
      .def("_pb_at", [](S& self, int64_t index) { return module_object(self.at(index)); })
      .def(
          "_pb_set", [](S& self, int64_t index, nb::handle module) { self.set(index, to_module(module)); }, nb::arg(), nb::arg().none())
      .def(
          "_pb_insert", [](S& self, int64_t index, nb::handle module) { self.insert(index, to_module(module)); }, nb::arg(),
          nb::arg().none())
      .def("_pb_modules_list",
          [](S& self) {
            nb::list list;
            for (const Ref<Module>& child : self.modules()) list.append(module_object(child));
            return list;
          })
      .def("_pb_set_modules", [](S& self, nb::handle modules) { self.set_modules(modules_of(modules)); });
}

}  // namespace

void bind_containers(nb::module_& m) {
  bind_sequence<nn::Sequential>(m, "pyburn.nn.Sequential",
      "Runs modules one after another.\n\n>>> pyburn.nn.Sequential(pyburn.nn.Linear(3, 2), "
      "pyburn.nn.ReLU())(pyburn.ones(3)).shape\npyburn.Size([2])")
      .def_init(+[](nb::args modules) {
        nn::NamedModules list;
        if (modules.size() == 1 && PyDict_Check(modules[0].ptr()))
          for (nb::handle item : modules[0].attr("items")()) list.emplace_back(nb::cast<std::string>(item[0]), to_module(item[1]));
        else
          for (size_t i = 0; i < modules.size(); ++i) list.emplace_back(std::to_string(i), to_module(modules[i]));
        return make_ref<nn::Sequential>(std::move(list));
      })
      .def("forward", run_chain, "input"_a.none());
  bind_sequence<nn::ModuleList>(m, "pyburn.nn.ModuleList",
      "Holds modules in a list.\n\n>>> layers = pyburn.nn.ModuleList([pyburn.nn.Linear(2, 2) for _ in range(3)])\n>>> len(layers)\n3")
      .def_init(
          +[](nb::handle modules) {
            const Ref<nn::ModuleList> made = make_ref<nn::ModuleList>();
            if (!modules.is_none()) made->extend(modules_of(modules));
            return made;
          },
          "modules"_a.none() = nb::none());
  bind_module_class<nn::ModuleDict>(m, "pyburn.nn.ModuleDict",
      "Holds modules in a dict.\n\n>>> heads = pyburn.nn.ModuleDict({'a': pyburn.nn.ReLU(), 'b': pyburn.nn.Identity()})\n>>> "
      "list(heads)\n['a', 'b']")
      .def_init(
          +[](nb::handle modules) { return make_ref<nn::ModuleDict>(children_of_dict(modules)); }, "modules"_a.none() = nb::none())
      .def("__len__", &nn::ModuleDict::size)
      .def("__contains__", [](nn::ModuleDict& self, const std::string& key) { return self.contains(key); })
      .def("_pb_keys", &nn::ModuleDict::keys);
}

}  // namespace pyburn::python
