#include "pyburn/optim/scaled_updates.h"

namespace pyburn::optim {

void AdagradOptions::check() const {
  check_not_negative("learning rate", lr);
  check_not_negative("lr_decay value", lr_decay);
  check_not_negative("weight_decay value", weight_decay);
  check_not_negative("initial_accumulator_value value", initial_accumulator_value);
  check_not_negative("epsilon value", eps);
}
UpdateOf<AdagradStep> advance(const AdagradOptions& o, AdagradState& s, const TensorHandle& p) {
  const double rate = o.lr / (1 + double(s.step++) * o.lr_decay);
  return {{rate, o.eps, o.weight_decay, o.maximize}, {started(s.sum, p, o.initial_accumulator_value)}};
}

void AdadeltaOptions::check() const {
  check_not_negative("learning rate", lr);
  require<ValueError>(rho >= 0 && rho <= 1, "Invalid rho value: {}", rho);
  check_not_negative("epsilon value", eps);
  check_not_negative("weight_decay value", weight_decay);
}
UpdateOf<AdadeltaStep> advance(const AdadeltaOptions& o, AdadeltaState& s, const TensorHandle& p) {
  ++s.step;
  return {{o.lr, o.rho, o.eps, o.weight_decay, o.maximize}, {started(s.square_avg, p), started(s.acc_delta, p)}};
}

void RmspropOptions::check() const {
  check_not_negative("learning rate", lr);
  check_not_negative("epsilon value", eps);
  check_not_negative("momentum value", momentum);
  check_not_negative("weight_decay value", weight_decay);
  check_not_negative("alpha value", alpha);
}
UpdateOf<RmspropStep> advance(const RmspropOptions& o, RmspropState& s, const TensorHandle& p) {
  ++s.step;
  Tensors state{started(s.square_avg, p)};
  if (o.momentum > 0) state.push_back(started(s.momentum_buffer, p));
  if (o.centered) state.push_back(started(s.grad_avg, p));
  return {{o.lr, o.alpha, o.eps, o.weight_decay, o.momentum, o.centered, o.maximize}, state};
}

void RpropOptions::check() const {
  check_not_negative("learning rate", lr);
  require<ValueError>(eta_minus > 0 && eta_minus < 1 && eta_plus > 1, "Invalid eta values: {}, {}", eta_minus, eta_plus);
}
UpdateOf<RpropStep> advance(const RpropOptions& o, RpropState& s, const TensorHandle& p) {
  ++s.step;
  return {{o.eta_minus, o.eta_plus, o.step_size_min, o.step_size_max, o.maximize}, {started(s.prev, p), started(s.step_size, p, o.lr)}};
}

}  // namespace pyburn::optim
