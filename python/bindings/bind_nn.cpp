// The layers. Methods that need no C++ are added in python/pyburn/nn.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "module_binding.h"
#include "pyburn/nn/nn.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using nn::Module;

constexpr int64_t kLarge = 1 << 14;  // elements from which on the GIL is worth releasing

nn::Placement placement(nb::handle device, nb::handle dtype) {
  nn::Placement p;
  if (!device.is_none()) p.device = &to_device(device.ptr());
  if (!dtype.is_none()) p.dtype = to_dtype(dtype.ptr());
  return p;
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
  nb::class_<L, Module> c = module_class<L>(m, name, doc);
  if constexpr (requires { typename L::Config; }) bind_options<L>(c);
  c.def(
      "forward",
      [](L& self, const TensorHandle& input) {
        const GilRelease released(input.numel() >= kLarge);
        return self.L::forward(input);
      },
      "input"_a);
  return c;
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

}  // namespace

void bind_nn(nb::module_& m) {
  m.def("_make_parameter", [](nb::handle cls, const TensorHandle& data, bool requires_grad) {
    return nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), nn::Parameter(data, requires_grad)));
  });
  m.def("_set_parameter_class", [](nb::handle cls) { Py_XSETREF(parameter_type, cls.inc_ref().ptr()); });
  nb::module_ n = m.def_submodule("_nn");
  bind_module(n);
  bind_layers(n);
  bind_containers(n);
  bind_initialisers(n);
}

}  // namespace pyburn::python
