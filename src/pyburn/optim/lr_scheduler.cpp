#include "pyburn/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pyburn/support/error.h"

namespace pyburn::optim {
namespace {

// The present rate, moved on by the change of a factor of the first one.
double moved(const Schedule& factor, const RatePoint& p) {
  if (p.step == 0) return p.now * factor(0);
  const double before = factor(p.step - 1), now = factor(p.step);
  return before == now || before == 0 ? p.now : p.now * (now / before);
}

void check_factor(const char* what, double factor, bool may_be_zero) {
  require<ValueError>((may_be_zero ? factor >= 0 : factor > 0) && factor <= 1, "{} expected to be between 0 and 1: got {}", what, factor);
}

}  // namespace

void check_has_momentum(bool is_there) {
  require<ValueError>(is_there, "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
}

void check_steps(int64_t steps) { require<ValueError>(steps >= 1, "expected at least one step: got {}", steps); }

double StepLR::operator()(const RatePoint& p) const { return moved(Schedule::step(1, step_size, gamma), p); }
double MultiStepLR::operator()(const RatePoint& p) const { return moved(Schedule::multi_step(milestones, gamma), p); }

void ConstantLR::check() const { check_factor("Constant multiplicative factor", factor, true); }
double ConstantLR::operator()(const RatePoint& p) const { return moved(Schedule::constant_factor(factor, total_iters), p); }

void LinearLR::check() const {
  check_factor("Starting multiplicative factor", start_factor, false);
  check_factor("Ending multiplicative factor", end_factor, true);
}
double LinearLR::operator()(const RatePoint& p) const { return moved(Schedule::linear_factor(start_factor, end_factor, total_iters), p); }

double ExponentialLR::operator()(const RatePoint& p) const { return moved(Schedule::exponential(1, gamma), p); }
double PolynomialLR::operator()(const RatePoint& p) const { return moved(Schedule::polynomial(total_iters, power), p); }

double CosineAnnealingLR::operator()(const RatePoint& p) const {
  require<ValueError>(T_max > 0, "T_max must be positive: got {}", T_max);
  if (p.step == 0) return p.now;
  const auto wave = [&](int64_t step) { return 1 + std::cos(std::numbers::pi * double(step) / double(T_max)); };
  if ((p.step - 1 - T_max) % (2 * T_max) == 0)  // was at the bottom, where nothing can be multiplied
    return p.now + (p.base - eta_min) * (1 - std::cos(std::numbers::pi / double(T_max))) / 2;
  return wave(p.step) / wave(p.step - 1) * (p.now - eta_min) + eta_min;
}

double CyclicLR::operator()(const RatePoint& p) const {
  return Schedule::cyclic({base_lr, max_lr, step_size_up, step_size_down, mode, gamma, scale_fn, scale_mode})(p.step);
}
std::optional<double> CyclicLR::momentum(int64_t step) const {
  if (!cycle_momentum) return {};
  return Schedule::cyclic({max_momentum, base_momentum, step_size_up, step_size_down, mode, gamma, scale_fn, scale_mode})(step);
}

double OneCycleLR::operator()(const RatePoint& p) const {
  require<ValueError>(p.step <= length(), "Tried to step {} times. The specified number of total steps is {}", p.step, length());
  return Schedule::one_cycle({max_lr, length(), pct_start, anneal_strategy, div_factor, final_div_factor, three_phase})(p.step);
}
std::optional<double> OneCycleLR::momentum(int64_t step) const {
  if (!cycle_momentum) return {};
  return Schedule::one_cycle({base_momentum, length(), pct_start, anneal_strategy, base_momentum / max_momentum, 1, three_phase})(step);
}

void SWALR::check() const {
  require<ValueError>(anneal_strategy == "cos" || anneal_strategy == "linear",
      "anneal_strategy must be one of 'cos' or 'linear', instead got {}", anneal_strategy);
  require<ValueError>(anneal_epochs >= 0, "anneal_epochs must be equal or greater than 0, got {}", anneal_epochs);
}
double SWALR::operator()(const RatePoint& p) const {
  const int64_t length = std::max<int64_t>(1, anneal_epochs), at = anneal_epochs ? p.step : std::max<int64_t>(1, p.step);
  const auto weight = [&](int64_t step) {  // of swa_lr, from 0 to 1
    const Schedule curve = anneal_strategy == "cos" ? Schedule::cosine(0, 1, length) : Schedule::linear(0, 1, length);
    return curve(std::clamp<int64_t>(step, 0, length));
  };
  const double before = weight(at - 1), now = weight(at);
  const double start = before == 1 ? swa_lr : (p.now - before * swa_lr) / (1 - before);  // the initial rate, if unchanged by others
  return swa_lr * now + start * (1 - now);
}

void SequentialLR::check() const {
  require<ValueError>(!schedulers.empty() && schedulers.size() == milestones.size() + 1,
      "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got number of "
      "schedulers {} and the number of milestones to be equal to {}",
      schedulers.size(), milestones.size());
  require<ValueError>(std::is_sorted(milestones.begin(), milestones.end()), "milestones must be increasing");
}
double SequentialLR::operator()(const RatePoint& p) const {
  const size_t i = size_t(std::upper_bound(milestones.begin(), milestones.end(), p.step) - milestones.begin());
  const int64_t step = i ? p.step - milestones[i - 1] : p.step;
  return schedulers[i]({p.base, step == 0 ? p.base : p.now, step});
}

void ChainedScheduler::check() const {
  require<ValueError>(!schedulers.empty(), "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.");
}
double ChainedScheduler::operator()(const RatePoint& p) const {
  double rate = p.now;
  for (const RateRule& rule : schedulers) rate = rule({p.base, rate, p.step});
  return rate;
}

}  // namespace pyburn::optim
