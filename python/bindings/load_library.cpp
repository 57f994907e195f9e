// Plugins of other packages, loaded at run time: names for their operations, classes for their layers.
#include <nanobind/stl/string.h>

#include "layer_class.h"
#include "pyburn/ir/operation.h"
#include "pyburn/plugin.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using Entry = std::shared_ptr<const nn::LayerEntry>;

TensorHandle forward(const nn::LayerEntry& e, nn::Module& self, const nb::args& args, const nb::kwargs& named) {
  if (!e.is_instance(self)) type_error(e.name + ".forward() expected a " + e.name + ": got a " + self.display_name());
  const auto refuse = [&](const std::string& what) { type_error(e.name + ".forward() " + what); };
  std::vector<TensorHandle> inputs(e.inputs.size());
  if (args.size() > inputs.size())
    refuse("takes " + std::to_string(inputs.size()) + " tensors but " + std::to_string(args.size()) + " were given");
  size_t given = 0;
  bool large = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const char* name = e.inputs[i].c_str();
    const bool by_name = i >= args.size() && named.contains(name);
    if (i >= args.size() && !by_name) refuse("missing the tensor '" + e.inputs[i] + "'");
    given += by_name;
    const nb::object value = by_name ? nb::object(named[name]) : nb::object(args[i]);
    if (!is_tensor(value.ptr())) refuse("expected a Tensor as '" + e.inputs[i] + "': got " + type_text(value.ptr()));
    inputs[i] = unwrap(value.ptr());
    large |= inputs[i].numel() >= 1 << 14;  // worth releasing the GIL for
  }
  if (given < named.size()) refuse("got an unexpected keyword argument, or one twice");
  const GilRelease released(large);
  return e.forward(self, inputs);
}

// A class like those of pyburn's own layers, which pickles by the name that it has in `module`.
nb::object class_of_layer(const Entry& e, const std::string& module) {
  const auto& info = *new LayerClass(module + "." + e->name, *e->config, e->text, e->placed, nullptr);  // for ever, as the class
  const auto make_unfilled = [e](nb::handle config) {
    const Ref<AttrBox> options = AttrBox::fresh(*e->config);
    if (!config.is_none()) fields_from_dict(*e->config, options->get(), config);
    return e->make_unfilled(options->get());
  };
  const Ref<nn::Module> example = make_unfilled(nb::none());
  ModuleClass<nn::Module> c(make_module_class(
      info.qualified_name(), info.documented(e->doc.c_str()).c_str(), module_type, &typeid(*example), {make_unfilled, e->is_instance}));
  c.attr("_option_types") = info.option_types();
  // nanobind does not put a function where the base class has one: its methods are wrapped by now.
  const auto add = [&](const char* name, auto function, const auto&... more) {
    c.attr(name) = nb::cpp_function(function, nb::name(name), nb::is_method(), more...);
  };
  add("__init__", [e, &info, type = c.type()](nb::handle self, nb::args args, nb::kwargs kwargs) {
    initialise(self.ptr(), type, [&] {
      const Ref<AttrBox> options = AttrBox::fresh(*e->config);
      const nn::Placement placement = info.read(options->get(), args, kwargs);
      return e->make(options->get(), placement);
    });
  });
  std::string signature = "def forward(self";
  for (const std::string& input : e->inputs) signature += ", " + input + ": Tensor";
  signature += ") -> Tensor";
  add(
      "forward", [e](nn::Module& self, nb::args args, nb::kwargs named) { return forward(*e, self, args, named); },
      nb::sig(signature.c_str()));
  if (e->reset_parameters)
    add(
        "reset_parameters",
        [e](nn::Module& self) {
          if (!e->is_instance(self)) type_error(e->name + ".reset_parameters() expected a " + e->name + ": got a " + self.display_name());
          e->reset_parameters(self);
        },
        "Starts over with fresh values.");
  wrap_methods(c.type());
  return c;
}

// The names of a plugin's operations, and its layers as classes of `module`. The path is passed as bytes: file names need not be
// Unicode.
nb::tuple load(nb::bytes path, const std::string& module) {
  const Plugin& plugin = [&]() -> const Plugin& {
    const std::string text(path.c_str(), path.size());
    const GilRelease released;
    return load_library(text);
  }();
  nb::list operations;
  for (const OpInfo* row : plugin.operations) operations.append(nb::str(row->name().data(), row->name().size()));
  nb::dict layers;
  for (const Entry& e : plugin.layers) layers[e->name.c_str()] = class_of_layer(e, module);
  return nb::make_tuple(operations, layers);
}

}  // namespace

void bind_plugins(nb::module_& m) { m.def("_load_library", load, "path"_a, "module"_a); }

}  // namespace pyburn::python
