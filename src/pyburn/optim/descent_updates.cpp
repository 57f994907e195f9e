#include "pyburn/optim/descent_updates.h"

#include <algorithm>
#include <cmath>

namespace pyburn::optim {

void SgdOptions::check() const {
  check_not_negative("learning rate", lr);
  check_not_negative("momentum value", momentum);
  check_not_negative("weight_decay value", weight_decay);
  require<ValueError>(!nesterov || (momentum > 0 && dampening == 0), "Nesterov momentum requires a momentum and zero dampening");
}
UpdateOf<SgdStep> advance(const SgdOptions& o, SgdState& s, const TensorHandle& p) {
  const bool first = o.momentum != 0 && !s.momentum_buffer.defined();
  const SgdStep step{o.lr, o.momentum, first ? 1 : 1 - o.dampening, o.weight_decay, o.nesterov, o.maximize};
  if (o.momentum == 0) return {step, {}};
  return {step, {started(s.momentum_buffer, p)}};
}

void AsgdOptions::check() const {
  check_not_negative("learning rate", lr);
  check_not_negative("lambd value", lambd);
  check_not_negative("alpha value", alpha);
  check_not_negative("weight_decay value", weight_decay);
}
UpdateOf<AsgdStep> advance(const AsgdOptions& o, AsgdState& s, const TensorHandle& p) {
  // Rounded to the precision of files, so that an interrupted run continues exactly like an uninterrupted one.
  if (s.step == 0) s.eta = float(o.lr), s.mu = 1;
  const AsgdStep step{s.eta, s.mu, o.lambd, o.weight_decay, o.maximize};
  const double t = double(++s.step);
  s.eta = float(o.lr / std::pow(1 + o.lambd * o.lr * t, o.alpha));
  s.mu = float(1 / std::max(1.0, t - o.t0));
  return {step, {started(s.ax, p)}};
}

}  // namespace pyburn::optim
