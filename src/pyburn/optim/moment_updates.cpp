#include "pyburn/optim/moment_updates.h"

#include <cmath>

namespace pyburn::optim {
namespace {

template <class Options>
void check_moments(const Options& o) {
  check_not_negative("learning rate", o.lr);
  if constexpr (requires { o.eps; }) check_not_negative("epsilon value", o.eps);
  check_beta(0, o.beta1);
  check_beta(1, o.beta2);
  if constexpr (requires { o.beta3; }) check_beta(2, o.beta3);
  check_not_negative("weight_decay value", o.weight_decay);
}
// How far a running average that started at 0 has come.
double correction(double beta, int64_t steps) { return 1 - std::pow(beta, double(steps)); }

struct Decay {
  double penalty, keep;
};
Decay decay(double lr, double weight_decay, bool decoupled) { return decoupled ? Decay{0, 1 - lr * weight_decay} : Decay{weight_decay, 1}; }

}  // namespace

void AdamOptions::check() const { check_moments(*this); }
UpdateOf<AdamStep> advance(const AdamOptions& o, AdamState& s, const TensorHandle& p) {
  ++s.step;
  const auto [penalty, keep] = decay(o.lr, o.weight_decay, o.decoupled_weight_decay);
  const double rate = o.lr / correction(o.beta1, s.step), root = std::sqrt(correction(o.beta2, s.step));
  Tensors state{started(s.exp_avg, p), started(s.exp_avg_sq, p)};
  if (o.amsgrad) state.push_back(started(s.max_exp_avg_sq, p));
  return {{o.beta1, o.beta2, o.eps, rate, root, penalty, keep, o.amsgrad, o.maximize, o.cautious_weight_decay}, state};
}

void AdamaxOptions::check() const { check_moments(*this); }
UpdateOf<AdamaxStep> advance(const AdamaxOptions& o, AdamaxState& s, const TensorHandle& p) {
  const double rate = o.lr / correction(o.beta1, ++s.step);
  return {{o.beta1, o.beta2, o.eps, rate, o.weight_decay, o.maximize}, {started(s.exp_avg, p), started(s.exp_inf, p)}};
}

void NAdamOptions::check() const {
  check_moments(*this);
  check_not_negative("momentum_decay value", momentum_decay);
}
UpdateOf<NAdamStep> advance(const NAdamOptions& o, NAdamState& s, const TensorHandle& p) {
  ++s.step;
  auto momentum = [&](int64_t step) { return o.beta1 * (1 - 0.5 * std::pow(0.96, double(step) * o.momentum_decay)); };
  const double now = momentum(s.step), next = momentum(s.step + 1);
  s.mu_product = float(s.mu_product) * float(now);  // the precision of files, so that resuming gives the same bits
  const auto [penalty, keep] = decay(o.lr, o.weight_decay, o.decoupled_weight_decay);
  const double gradient_rate = o.lr * (1 - now) / (1 - s.mu_product), average_rate = o.lr * next / (1 - s.mu_product * next);
  return {{o.beta1, o.beta2, o.eps, correction(o.beta2, s.step), gradient_rate, average_rate, penalty, keep, o.maximize},
      {started(s.exp_avg, p), started(s.exp_avg_sq, p)}};
}

void RAdamOptions::check() const { check_moments(*this); }
UpdateOf<RAdamStep> advance(const RAdamOptions& o, RAdamState& s, const TensorHandle& p) {
  const double t = double(++s.step), correction2 = correction(o.beta2, s.step);
  double rate = o.lr / correction(o.beta1, s.step);
  const double longest = 2 / (1 - o.beta2) - 1, length = longest - 2 * t * std::pow(o.beta2, t) / correction2;  // of the average
  const bool adaptive = length > 5;
  if (adaptive) rate *= std::sqrt(correction2 * (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
  const auto [penalty, keep] = decay(o.lr, o.weight_decay, o.decoupled_weight_decay);
  return {{o.beta1, o.beta2, o.eps, rate, penalty, keep, adaptive, o.maximize}, {started(s.exp_avg, p), started(s.exp_avg_sq, p)}};
}

void LionOptions::check() const { check_moments(*this); }
UpdateOf<LionStep> advance(const LionOptions& o, LionState& s, const TensorHandle& p) {
  return {{o.lr, o.beta1, o.beta2, 1 - o.lr * o.weight_decay, o.maximize}, {started(s.exp_avg, p)}};
}

void AdanOptions::check() const { check_moments(*this); }
UpdateOf<AdanStep> advance(const AdanOptions& o, AdanState& s, const TensorHandle& p) {
  const double changed = ++s.step == 1 ? 0 : 1;
  const double rate = o.lr / correction(o.beta1, s.step), change_rate = o.lr * o.beta2 / correction(o.beta2, s.step);
  const double keep = o.no_prox ? 1 - o.lr * o.weight_decay : 1, shrink = o.no_prox ? 1 : 1 / (1 + o.lr * o.weight_decay);
  return {{o.beta1, o.beta2, o.beta3, o.eps, rate, change_rate, std::sqrt(correction(o.beta3, s.step)), keep, shrink, changed, o.maximize},
      {started(s.exp_avg, p), started(s.exp_avg_sq, p), started(s.exp_avg_diff, p), started(s.pre_grad, p)}};
}

}  // namespace pyburn::optim
