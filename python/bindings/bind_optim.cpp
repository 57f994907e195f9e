// Optimiser steps for Python, where groups and state are plain dicts.
#include "objects.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/runtime/transfer.h"
#include "python_fields.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

template <class Options>
Options options_from(nb::handle group) {
  Options o;
  fields_from_dict(attr_type<Options>, &o, group);
  return o;
}

void read_field(nb::handle value, TensorHandle& field) {
  if (value.is_valid() && is_tensor(value.ptr())) field = unwrap(value.ptr());
}
void read_field(nb::handle value, int64_t& field) {
  if (value.is_valid()) field = nb::cast<int64_t>(nb::int_(value));
}

// The state of a parameter: read from its dict, and what the step has made or changed written back.
template <class State>
State state_from(nb::handle dict) {
  State s;
  s.visit([&](const char* name, auto& field) { read_field(PyDict_GetItemString(dict.ptr(), name), field); });
  return s;
}
template <class State>
void write_state(State& s, nb::handle dict) {
  s.visit([&](const char* name, auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, TensorHandle>) {
      if (field.defined()) dict[name] = nb::cast(field);
    } else {
      dict[name] = field;
    }
  });
}

// One step of a group. `states` are dicts, one per parameter.
template <class Options, class State>
void step(nb::handle group, nb::list parameters, nb::list states) {
  const Options options = options_from<Options>(group);
  std::vector<TensorHandle> p;
  std::vector<State> s;
  for (nb::handle h : parameters) p.push_back(nb::cast<TensorHandle>(h));
  for (nb::handle h : states) s.push_back(state_from<State>(h));
  std::vector<State*> pointers;
  for (State& one : s) pointers.push_back(&one);
  {
    const GilRelease released;
    optim::update(options, p, pointers);
  }
  for (size_t i = 0; i < s.size(); ++i) write_state(s[i], states[i]);
}

}  // namespace

void bind_optim(nb::module_& m) {
  nb::module_ o = m.def_submodule("_optim");
  o.def("sgd_step", step<optim::SgdOptions, optim::SgdState>);
  o.def("adam_step", step<optim::AdamOptions, optim::AdamState>);
  o.def("fitted", [](const TensorHandle& value, const TensorHandle& parameter) {
    const TensorHandle here = moved_to(parameter.device(), value);
    return is_floating(here.dtype()) ? fn::cast(here, parameter.dtype()) : fn::clone(here);
  });
  o.def("check_sgd", [](nb::handle group) { options_from<optim::SgdOptions>(group).check(); });
  o.def("check_adam", [](nb::handle group) { options_from<optim::AdamOptions>(group).check(); });
}

}  // namespace pyburn::python
