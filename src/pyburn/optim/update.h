// One step of many parameters. An optimiser is its options, its state of a parameter, and a function that brings the state forward:
//
//   UpdateOf<AdamStep> advance(const AdamOptions&, AdamState&, const TensorHandle& parameter);
//
// which counts the step, makes tensors of state that are not there yet, and gives the numbers of the formula (ops/optimise.h).
// Parameters with the same numbers, dtype and device are updated by one operation.
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
  Tensors state;  // as many as step.states(), in its order
};

// Makes `state` if it is undefined: zeros, or `value`, like the parameter.
const TensorHandle& started(TensorHandle& state, const TensorHandle& parameter, double value = 0);

// Refusals that many options share; ValueError in PyTorch's words.
void check_not_negative(const char* what, double value);  // "Invalid {what}: {value}"
void check_beta(int index, double beta);

// `states[i]` belongs to `parameters[i]`; a parameter without a gradient is left alone. `differentiable`: the step is recorded, from the
// gradients and the old values to the new ones, so the parameters must not be leaves. `found_inf`, if defined: a tensor with one element;
// where it is not zero, parameters and tensors of state stay as they are (counts of steps, which the host keeps, go on).
template <class Options, class State>
void update(const Options& options, const std::vector<TensorHandle>& parameters, const std::vector<State*>& states,
    const GradientClipping& clip = {}, bool differentiable = false, const TensorHandle& found_inf = {}) {
  const autograd::GradMode mode(differentiable);
  using Step = decltype(advance(options, *states[0], parameters[0]).step);
  struct Bucket {
    Step step;
    Tensors parameters, gradients;
    SmallVector<Tensors, 4> state;
  };
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const TensorHandle& p = parameters[i];
    const TensorHandle g = autograd::grad_of(p);
    if (!g.defined()) continue;
    const UpdateOf<Step> next = advance(options, *states[i], p);
    Bucket* home = nullptr;
    for (Bucket& b : buckets) {
      const TensorHandle& other = b.parameters[0];
      if (other.dtype() == p.dtype() && &other.device() == &p.device() && b.step.fields() == next.step.fields()) home = &b;
    }
    if (!home) home = &buckets.emplace_back(Bucket{next.step, {}, {}, SmallVector<Tensors, 4>(next.state.size(), {})});
    home->parameters.push_back(p);
    home->gradients.push_back(clip(g));
    for (int64_t k = 0; k < next.state.size(); ++k) home->state[k].push_back(next.state[k]);
  }
  for (const Bucket& b : buckets) {
    const TensorHandle flag = found_inf.defined() ? moved_to(b.parameters[0].device(), found_inf) : found_inf;
    run_update(b.step, b.parameters, b.gradients, {b.state.data(), size_t(b.state.size())}, differentiable, flag);
  }
}

}  // namespace pyburn::optim
