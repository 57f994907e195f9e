// Optimiser steps for Python, where groups and state are plain dicts.
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>

#include "objects.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/optim/grad_scaler.h"
#include "pyburn/optim/lbfgs.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/optim/sparse_adam.h"
#include "pyburn/runtime/run_observer.h"
#include "pyburn/runtime/transfer.h"
#include "python_fields.h"
#include "step_objects.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

template <class Options>
Options options_from(nb::handle group) {
  const UnobservedScope read_again_in_each_step;
  Options o;
  fields_from_dict(attr_type<Options>, &o, group);
  return o;
}

double number_from(nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred()) throw nb::python_error();
  return number;
}

void read_field(nb::handle value, TensorHandle& field) {
  if (is_tensor(value.ptr())) field = unwrap(value.ptr());
}
void read_field(nb::handle value, int64_t& field) { field = int64_t(number_from(value)); }
void read_field(nb::handle value, double& field) { field = number_from(value); }
template <class T>
void read_field(nb::handle values, std::vector<T>& field) {
  for (nb::handle value : values) read_field(value, field.emplace_back());
}

nb::object written_field(const TensorHandle& field) { return field.defined() ? nb::cast(field) : nb::object(); }
nb::object written_field(int64_t field) { return nb::int_(field); }
nb::object written_field(double field) { return nb::float_(field); }
template <class T>
nb::object written_field(const std::vector<T>& field) {
  nb::list values;
  for (const T& value : field) values.append(written_field(value));
  return values;
}

template <class State, class Visit>
void visit_fields(State& s, Visit visit) {
  std::string_view names = State::field_names();
  std::apply([&](auto&... field) { (visit(std::string(detail::next_name(names)), field), ...); }, s.fields());
}
// The state of a parameter: read from its dict, and what the step has made or changed written back.
template <class State>
State state_from(nb::handle dict) {
  const UnobservedScope read_again_in_each_step;
  State s;
  visit_fields(s, [&](const std::string& name, auto& field) {
    const nb::handle value = PyDict_GetItemString(dict.ptr(), name.c_str());
    if (value.is_valid() && !value.is_none()) read_field(value, field);
  });
  return s;
}
template <class State>
void write_state(State& s, nb::handle dict) {
  visit_fields(s, [&](const std::string& name, auto& field) {
    if (const nb::object value = written_field(field); value.is_valid()) dict[name.c_str()] = value;
  });
}

std::vector<TensorHandle> tensors_from(nb::handle list) {
  std::vector<TensorHandle> tensors;
  for (nb::handle h : list) tensors.push_back(nb::cast<TensorHandle>(h));
  return tensors;
}
optim::GradientClipping clipping_from(nb::handle clip) {  // None, or a kind and a limit
  if (clip.is_none()) return {};
  nb::str kind;
  nb::float_ limit;
  if (!nb::isinstance<nb::tuple>(clip) || nb::len(clip) != 2 || !nb::try_cast(clip[0], kind) || !nb::try_cast(clip[1], limit))
    throw nb::type_error("[optim] grad_clip must be a GradientClipping or None");
  return optim::GradientClipping::named(kind.c_str(), double(limit));
}

template <class Options, class State>
concept AdvancesByNumbers = requires(const Options& o, State& s, const TensorHandle& p) {
  advance(o, s, p);
};

// One step of a group. `states` are dicts, one per parameter. `found_inf` is a tensor or None.
template <class Options, class State>
void step(nb::handle group, nb::list parameters, nb::list states, nb::handle clip, nb::handle found_inf) {
  const Options options = options_from<Options>(group);
  const optim::GradientClipping clipping = clipping_from(clip);
  const nb::handle recorded = PyDict_GetItemString(group.ptr(), "differentiable");
  const bool differentiable = recorded.is_valid() && PyObject_IsTrue(recorded.ptr()) == 1;
  const std::vector<TensorHandle> p = tensors_from(parameters);
  std::vector<State> s;
  for (nb::handle h : states) s.push_back(state_from<State>(h));
  std::vector<State*> pointers;
  for (State& one : s) pointers.push_back(&one);
  const TensorHandle flag = found_inf.is_none() ? TensorHandle() : nb::cast<TensorHandle>(found_inf);
  {
    const ComputesWith released(true, std::span(p));
    if constexpr (AdvancesByNumbers<Options, State>) update(options, p, pointers, clipping, differentiable, flag);
    else update(options, p, pointers, clipping);
  }
  for (size_t i = 0; i < s.size(); ++i) write_state(s[i], states[i]);
}

// The host's part of a step of a group: what the operations of its tensors' part are this time.
template <class Options, class State>
nb::list advanced(nb::handle group, nb::list parameters, nb::list states) {
  const Options options = options_from<Options>(group);
  const std::vector<TensorHandle> p = tensors_from(parameters);
  std::vector<State> s;
  for (nb::handle h : states) s.push_back(state_from<State>(h));
  std::vector<State*> pointers;
  for (State& one : s) pointers.push_back(&one);
  nb::list operations;
  for (const auto& g : optim::advance_all(options, p, pointers)) {
    using Step = std::decay_t<decltype(g.step)>;
    operations.append(nb::cast(OperationObject{Operation(OpRef{Step::row, &g.step})}));
  }
  for (size_t i = 0; i < s.size(); ++i) write_state(s[i], states[i]);
  return operations;
}

// What Python's class of that name calls: check(options) and step(...).
template <class Options, class State>
void bind(nb::module_& m, const char* name) {
  nb::module_ o = m.def_submodule(name);
  o.def("check", [](nb::handle group) { options_from<Options>(group).check(); });
  o.def("step", step<Options, State>, nb::arg("group"), nb::arg("parameters"), nb::arg("states"), nb::arg("clip").none(),
      nb::arg("found_inf").none());
  if constexpr (AdvancesByNumbers<Options, State>) o.def("advance", advanced<Options, State>);
}

double lbfgs(nb::handle group, nb::list parameters, nb::dict state, nb::callable closure) {
  const auto options = options_from<optim::LbfgsOptions>(group);
  optim::LbfgsState s = state_from<optim::LbfgsState>(state);
  auto keep = [&] { write_state(s, state); };
  double first = 0;
  try {
    first = optim::lbfgs_step(options, tensors_from(parameters), s, [&] { return number_from(closure()); });
  } catch (...) {  // the closure may raise: what was learnt until then stays
    keep();
    throw;
  }
  keep();
  return first;
}

}  // namespace

void bind_optim(nb::module_& m) {
  nb::module_ o = m.def_submodule("_optim");
  bind<optim::SgdOptions, optim::SgdState>(o, "SGD");
  bind<optim::AsgdOptions, optim::AsgdState>(o, "ASGD");
  bind<optim::AdamOptions, optim::AdamState>(o, "Adam");
  bind<optim::AdamaxOptions, optim::AdamaxState>(o, "Adamax");
  bind<optim::NAdamOptions, optim::NAdamState>(o, "NAdam");
  bind<optim::RAdamOptions, optim::RAdamState>(o, "RAdam");
  bind<optim::LionOptions, optim::LionState>(o, "Lion");
  bind<optim::AdanOptions, optim::AdanState>(o, "Adan");
  bind<optim::AdagradOptions, optim::AdagradState>(o, "Adagrad");
  bind<optim::AdadeltaOptions, optim::AdadeltaState>(o, "Adadelta");
  bind<optim::RmspropOptions, optim::RmspropState>(o, "RMSprop");
  bind<optim::RpropOptions, optim::RpropState>(o, "Rprop");
  bind<optim::MuonOptions, optim::MuonState>(o, "Muon");
  bind<optim::AdafactorOptions, optim::AdafactorState>(o, "Adafactor");
  o.def("sparse_adam_step", [](const TensorHandle& p, const TensorHandle& gradient, const TensorHandle& average, const TensorHandle& square,
                                int64_t steps, double lr, double beta1, double beta2, double eps, bool maximize) {
    optim::SparseAdamState state{steps, average, square};
    optim::advance_sparse({lr, beta1, beta2, eps, maximize}, state, p, gradient);
  });
  nb::module_ l = o.def_submodule("LBFGS");
  l.def("check", [](nb::handle group) { options_from<optim::LbfgsOptions>(group).check(); });
  l.def("step", lbfgs);
  o.def("zero_gradients", [](nb::list parameters, bool set_to_none) { optim::zero_gradients(tensors_from(parameters), set_to_none); });
  o.def(
      "check_clipping", [](nb::handle clip) { clipping_from(clip); }, nb::arg("clip").none());
  o.def("unscale_gradients", [](nb::list parameters, double scale) { return optim::unscale_gradients(tensors_from(parameters), scale); });
  o.def("fitted", [](const TensorHandle& value, const TensorHandle& parameter) {
    const TensorHandle here = moved_to(parameter.device(), value);
    return is_floating(here.dtype()) ? fn::cast(here, parameter.dtype()) : fn::clone(here);
  });
}

}  // namespace pyburn::python
