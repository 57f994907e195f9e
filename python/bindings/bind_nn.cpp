// Module and the layers. Methods that need no C++ are added in python/pyburn/nn.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module_class.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/support/error.h"
#include "python_fields.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using nn::Entry;
using nn::Module;

constexpr int64_t kLarge = 1 << 14;  // elements from which on the GIL is worth releasing

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

nn::Placement placement(nb::handle device, nb::handle dtype) {
  nn::Placement p;
  if (!device.is_none()) p.device = &to_device(device.ptr());
  if (!dtype.is_none()) p.dtype = to_dtype(dtype.ptr());
  return p;
}

// Makes an instance of cls with options and nothing registered: copies and pickles start from it.
using MakeUnfilled = void (*)(PyObject* self, nb::handle config);
std::vector<std::pair<PyTypeObject*, MakeUnfilled>>& unfilled_makers() {
  static std::vector<std::pair<PyTypeObject*, MakeUnfilled>> list;
  return list;
}

template <class M>
void make_unfilled(PyObject* self, nb::handle config) {
  if constexpr (requires { typename M::Config; }) {
    typename M::Config c;
    fields_from_dict(attr_type<typename M::Config>, &c, config);
    new (nb::inst_ptr<M>(self)) M(std::move(c), nn::Unfilled{});
  } else {
    new (nb::inst_ptr<M>(self)) M();
  }
}

nb::object unfilled(nb::handle cls, nb::handle config) {
  PyObject* mro = reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i)
    for (const auto& [type, make] : unfilled_makers()) {
      if (reinterpret_cast<PyObject*>(type) != PyTuple_GET_ITEM(mro, i)) continue;
      nb::object self = nb::inst_alloc(cls);
      make(self.ptr(), config);
      nb::inst_mark_ready(self);
      adopt(nb::inst_ptr<Module>(self), self.ptr());
      return self;
    }
  throw nb::type_error("not a class of modules");
}

// One property per option. A parameter of the same name (bias) hides its option.
template <class L>
void bind_options(nb::class_<L, Module>& c) {
  std::string_view names = L::Config::field_names();
  while (!names.empty()) {
    const std::string name(detail::next_name(names));
    if (name == "bias") continue;
    c.def_prop_rw(
        name.c_str(), [name](L& m) { return nb::object(fields_to_dict(*m.config().type, m.config().fields)[name.c_str()]); },
        [name](L& m, nb::object value) {
          nb::dict changed;
          changed[name.c_str()] = value;
          fields_from_dict(*m.config().type, m.config().fields, changed);
        },
        nb::for_setter(nb::arg("value").none()));
  }
}

// Every layer is bound by this: collector, attributes, calls, options, forward.
template <class L>
nb::class_<L, Module> bind_layer(nb::module_& m, const char* name, const char* doc) {
  nb::class_<L, Module> c(m, name, nb::type_slots(module_slots()), nb::dynamic_attr(), nb::is_weak_referenceable(), doc);
  c.attr("__module__") = "pyburn.nn";
  unfilled_makers().emplace_back(reinterpret_cast<PyTypeObject*>(c.ptr()), make_unfilled<L>);
  if constexpr (requires { typename L::Config; }) bind_options<L>(c);
  if constexpr (!std::is_same_v<L, nn::Sequential>)  // which has one that takes anything
    c.def(
        "forward",
        [](L& self, const TensorHandle& input) {
          const GilRelease released(input.numel() >= kLarge);
          return self.L::forward(input);
        },
        "input"_a);
  return c;
}

void bind_module(nb::module_& m) {
  nb::class_<Module> c(m, "Module", nb::type_slots(module_slots()), nb::dynamic_attr(), nb::is_weak_referenceable(),
      nb::intrusive_ptr<Module>([](Module* self, PyObject* object) noexcept { adopt(self, object); }),
      "Base class of all neural network modules: parameters, buffers and modules set as attributes register themselves.");
  c.attr("__module__") = "pyburn.nn";
  unfilled_makers().emplace_back(reinterpret_cast<PyTypeObject*>(c.ptr()), make_unfilled<Module>);
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

void bind_convolution(nb::module_& m) {
  bind_layer<nn::Conv2d>(
      m, "Conv2d", "A convolution over images (N, C, H, W).\n\n>>> pyburn.nn.Conv2d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 5, 5)).shape")
      .def(
          "__init__",
          [](nn::Conv2d* self, int64_t in_channels, int64_t out_channels, nb::handle kernel_size, nb::handle stride, nb::handle padding,
              nb::handle dilation, int64_t groups, bool bias, nb::handle device, nb::handle dtype) {
            nn::Conv2dConfig c{
                in_channels, out_channels, to_dims(kernel_size.ptr()), to_dims(stride.ptr()), {0}, to_dims(dilation.ptr()), groups, bias};
            if (!PyUnicode_Check(padding.ptr())) {
              c.padding = to_dims(padding.ptr());
            } else {
              const std::string text = nb::cast<std::string>(padding);
              require<ValueError>(
                  text == "valid" || text == "same", "Invalid padding string '{}', should be one of {'valid', 'same'}", text);
              if (text == "same") c.padding = nn::same_padding(c.kernel_size, c.stride, c.dilation);
            }
            new (self) nn::Conv2d(std::move(c), placement(device, dtype));
          },
          "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
          "bias"_a = true, "device"_a = nb::none(), "dtype"_a = nb::none())
      .def("reset_parameters", &nn::Conv2d::reset_parameters, "Starts over with random values.");
}

void bind_layers(nb::module_& m) {
  bind_layer<nn::Linear>(m, "Linear", "y = x @ weight.T + bias.\n\n>>> pyburn.nn.Linear(3, 2)(pyburn.ones(4, 3)).shape")
      .def(
          "__init__",
          [](nn::Linear* self, int64_t in_features, int64_t out_features, bool bias, nb::handle device, nb::handle dtype) {
            new (self) nn::Linear({in_features, out_features, bias}, placement(device, dtype));
          },
          "in_features"_a, "out_features"_a, "bias"_a = true, "device"_a = nb::none(), "dtype"_a = nb::none())
      .def("reset_parameters", &nn::Linear::reset_parameters, "Starts over with random values.");
  bind_convolution(m);
  bind_layer<nn::BatchNorm2d>(m, "BatchNorm2d",
      "Each channel of (N, C, H, W) with mean 0 and variance 1 over the batch, then scaled and shifted.\n\n>>> "
      "pyburn.nn.BatchNorm2d(3)(pyburn.randn(4, 3, 2, 2)).shape")
      .def(
          "__init__",
          [](nn::BatchNorm2d* self, int64_t num_features, double eps, std::optional<double> momentum, bool affine, bool track_running_stats,
              nb::handle device, nb::handle dtype, bool bias) {
            nn::BatchNormConfig c{num_features, eps, std::nullopt, affine, bias, track_running_stats};
            if (momentum) c.momentum = *momentum;
            new (self) nn::BatchNorm2d(std::move(c), placement(device, dtype));
          },
          "num_features"_a, "eps"_a = 1e-5, "momentum"_a.none() = 0.1, "affine"_a = true, "track_running_stats"_a = true,
          "device"_a = nb::none(), "dtype"_a = nb::none(), nb::kw_only(), "bias"_a = true)
      .def("reset_parameters", &nn::BatchNorm2d::reset_parameters,
          "Starts over: weight 1, bias 0, running statistics of the standard normal.")
      .def("reset_running_stats", &nn::BatchNorm2d::reset_running_stats, "Forgets the running statistics.");
  bind_layer<nn::ReLU>(m, "ReLU", "The elements, with 0 in place of negative ones.\n\n>>> pyburn.nn.ReLU()(pyburn.tensor([-1.0, 1.0]))")
      .def(
          "__init__", [](nn::ReLU* self, bool inplace) { new (self) nn::ReLU({inplace}); }, "inplace"_a = false);
  bind_layer<nn::Flatten>(m, "Flatten", "The axes from start_dim to end_dim as one.\n\n>>> pyburn.nn.Flatten()(pyburn.ones(2, 3, 4)).shape")
      .def(
          "__init__",
          [](nn::Flatten* self, int64_t start_dim, int64_t end_dim) {
            new (self) nn::Flatten({start_dim, end_dim});
          },
          "start_dim"_a = 1, "end_dim"_a = -1);
  bind_layer<nn::Identity>(m, "Identity", "Gives its input back; takes any arguments.\n\n>>> pyburn.nn.Identity()(pyburn.ones(2))")
      .def("__init__", [](nn::Identity* self, nb::args, nb::kwargs) { new (self) nn::Identity(); });
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
  bind_layer<nn::Sequential>(m, "Sequential",
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
