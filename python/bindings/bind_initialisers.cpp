// nn.init and the parts of nn.utils that are C++.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "layer_class.h"
#include "pyburn/nn/clip_grad.h"
#include "pyburn/nn/init.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using Tensor_ = const TensorHandle&;

Generator* generator_of(nb::handle h) {
  if (h.is_none()) return nullptr;
  Generator* g = to_generator(h.ptr());
  if (!g) throw nb::type_error("expected a Generator");
  return g;
}

nn::init::FanMode fan_mode(const std::string& name) {
  require<ValueError>(name == "fan_in" || name == "fan_out", "Mode {} not supported, please use one of ['fan_in', 'fan_out']", name);
  return name == "fan_in" ? nn::init::FanMode::fan_in : nn::init::FanMode::fan_out;
}

void bind_random(nb::module_& m) {
  const auto g = "generator"_a.none();
  m.def(
      "_uniform", [](Tensor_ x, double low, double high, nb::handle h) { nn::init::uniform_(x, low, high, generator_of(h)); }, "x"_a, "a"_a,
      "b"_a, g);
  m.def(
      "_normal", [](Tensor_ x, double mean, double std, nb::handle h) { nn::init::normal_(x, mean, std, generator_of(h)); }, "x"_a, "a"_a,
      "b"_a, g);
  m.def(
      "_trunc_normal",
      [](Tensor_ x, double mean, double std, double low, double high, nb::handle h) {
        nn::init::trunc_normal_(x, mean, std, low, high, generator_of(h));
      },
      "x"_a, "mean"_a, "std"_a, "a"_a, "b"_a, g);
  m.def(
      "_xavier_uniform", [](Tensor_ x, double gain, nb::handle h) { nn::init::xavier_uniform_(x, gain, generator_of(h)); }, "x"_a, "gain"_a,
      g);
  m.def(
      "_xavier_normal", [](Tensor_ x, double gain, nb::handle h) { nn::init::xavier_normal_(x, gain, generator_of(h)); }, "x"_a, "gain"_a,
      g);
  m.def(
      "_kaiming_uniform",
      [](Tensor_ x, double a, const std::string& mode, const std::string& nonlinearity, nb::handle h) {
        nn::init::kaiming_uniform_(x, a, fan_mode(mode), nonlinearity, generator_of(h));
      },
      "x"_a, "a"_a, "mode"_a, "nonlinearity"_a, g);
  m.def(
      "_kaiming_normal",
      [](Tensor_ x, double a, const std::string& mode, const std::string& nonlinearity, nb::handle h) {
        nn::init::kaiming_normal_(x, a, fan_mode(mode), nonlinearity, generator_of(h));
      },
      "x"_a, "a"_a, "mode"_a, "nonlinearity"_a, g);
  m.def(
      "_orthogonal", [](Tensor_ x, double gain, nb::handle h) { nn::init::orthogonal_(x, gain, generator_of(h)); }, "x"_a, "gain"_a, g);
  m.def(
      "_sparse", [](Tensor_ x, double sparsity, double std, nb::handle h) { nn::init::sparse_(x, sparsity, std, generator_of(h)); }, "x"_a,
      "sparsity"_a, "std"_a, g);
}

}  // namespace

void bind_initialisers(nb::module_& m) {
  bind_random(m);
  m.def("_constant", [](Tensor_ x, double value) { nn::init::constant_(x, value); });
  m.def("_eye", [](Tensor_ x) { nn::init::eye_(x); });
  m.def("_dirac", [](Tensor_ x, int64_t groups) { nn::init::dirac_(x, groups); });
  m.def("_fans", [](Tensor_ x) { return nb::make_tuple(nn::init::fans(x).in, nn::init::fans(x).out); });
  m.def(
      "_gain", [](const std::string& nonlinearity, std::optional<double> param) { return nn::init::calculate_gain(nonlinearity, param); },
      "nonlinearity"_a, "param"_a.none());
  m.def("_without_init", [](nb::object make, nb::args args, nb::kwargs kwargs) {
    const nn::init::Skip skip;
    return make(*args, **kwargs);
  });
  m.def("_total_norm", nn::get_total_norm);
  m.def("_clip_with_norm", nn::clip_grads_with_norm_);
  m.def("_clip_norm", nn::clip_grad_norm_);
  m.def("_clip_value", nn::clip_grad_value_);
  m.def("_to_vector", nn::parameters_to_vector);
  m.def("_from_vector", nn::vector_to_parameters);
}

}  // namespace pyburn::python
