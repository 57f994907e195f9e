// One step of many parameters. An optimiser consists of options, per-parameter state, and a function that advances the state:
//
//   UpdateOf<AdamStep> advance(const AdamOptions&, AdamState&, const TensorHandle& parameter);
//
// which counts the step, creates missing state tensors, and returns the coefficients of the update (ops/optimise.h). Parameters with the
// same coefficients, dtype and device are updated by one operation.
#pragma once
#include <vector>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/optimise.h"
#include "pyburn/optim/gradient_clipping.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::optim {

template <class Step>
struct UpdateOf {
  Step step;
  Tensors state;  // as many as step.states(), in that order
};

// Creates `state` if it is undefined: zeros, or `value`, with the shape of the parameter.
const TensorHandle& started(TensorHandle& state, const TensorHandle& parameter, double value = 0);

// Checks shared by many options; ValueError with PyTorch's wording.
void check_not_negative(const char* what, double value);  // "Invalid {what}: {value}"
void check_beta(int index, double beta);

// Parameters that one operation updates.
template <class Step>
struct UpdateGroup {
  Step step;
  Tensors parameters;
  SmallVector<Tensors, 4> state;
};

// The host's part of a step: counts it in `states[i]`, which belongs to `parameters[i]`, and groups the parameters.
template <class Options, class State>
auto advance_all(const Options& options, const std::vector<TensorHandle>& parameters, const std::vector<State*>& states) {
  using Step = decltype(advance(options, *states[0], parameters[0]).step);
  std::vector<UpdateGroup<Step>> groups;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const TensorHandle& p = parameters[i];
    const UpdateOf<Step> next = advance(options, *states[i], p);
    UpdateGroup<Step>* home = nullptr;
    for (UpdateGroup<Step>& g : groups) {
      const TensorHandle& other = g.parameters[0];
      if (other.dtype() == p.dtype() && &other.device() == &p.device() && g.step.fields() == next.step.fields()) home = &g;
    }
    if (!home) home = &groups.emplace_back(UpdateGroup<Step>{next.step, {}, SmallVector<Tensors, 4>(next.state.size(), {})});
    home->parameters.push_back(p);
    for (int64_t k = 0; k < next.state.size(); ++k) home->state[k].push_back(next.state[k]);
  }
  return groups;
}

// One step; parameters without a gradient are skipped. `differentiable`: records the step from the gradients and old values to the new
// ones, so the parameters must not be leaves. `found_inf`, if defined, has one element; if it is not zero, parameters and state tensors
// stay unchanged (step counts, which the host keeps, advance).
template <class Options, class State>
void update(const Options& options, const std::vector<TensorHandle>& parameters, const std::vector<State*>& states,
    const GradientClipping& clip = {}, bool differentiable = false, const TensorHandle& found_inf = {}) {
  const autograd::GradMode mode(differentiable);
  std::vector<TensorHandle> active;
  std::vector<State*> theirs;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!autograd::grad_of(parameters[i]).defined()) continue;
    active.push_back(parameters[i]);
    theirs.push_back(states[i]);
  }
  for (const auto& group : advance_all(options, active, theirs)) {
    Tensors gradients;
    for (const TensorHandle& p : group.parameters) gradients.push_back(clip(autograd::grad_of(p)));
    const TensorHandle flag = found_inf.defined() ? moved_to(group.parameters[0].device(), found_inf) : found_inf;
    run_update(group.step, group.parameters, gradients, {group.state.data(), size_t(group.state.size())}, differentiable, flag);
  }
}

}  // namespace pyburn::optim
