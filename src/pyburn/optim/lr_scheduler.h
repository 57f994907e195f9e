// Learning-rate schedulers with PyTorch's names. A scheduler holds an optimiser and a rule, and sets the learning rates of all groups:
//
//   optim::LRScheduler scheduler(optimiser, optim::StepLR{.step_size = 30});
//   for (...) {
//     optimiser.step();
//     scheduler.step();
//   }
//
// Rules are callable structs of options; any function double(const RatePoint&) is a rule, too. Most compute a rate from the current one, so
// that several can be combined. (Schedule, in schedule.h, is the same without an optimiser.)
#pragma once
#include <optional>

#include "pyburn/ir/fields.h"
#include "pyburn/optim/schedule.h"

namespace pyburn::optim {

struct RatePoint {
  double base, now;  // the initial and the current rate of the group
  int64_t step;      // 0 when the scheduler is created
};
using RateRule = std::function<double(const RatePoint&)>;

struct LambdaLR {
  std::function<double(int64_t step)> lr_lambda;  // a factor of the initial rate
  double operator()(const RatePoint& p) const { return p.base * lr_lambda(p.step); }
};
struct MultiplicativeLR {
  std::function<double(int64_t step)> lr_lambda;  // a factor of the current rate
  double operator()(const RatePoint& p) const { return p.step == 0 ? p.now : p.now * lr_lambda(p.step); }
};
struct StepLR {
  int64_t step_size;
  double gamma = 0.1;
  double operator()(const RatePoint& p) const;
};
struct MultiStepLR {
  std::vector<int64_t> milestones;
  double gamma = 0.1;
  double operator()(const RatePoint& p) const;
};
struct ConstantLR {
  double factor = 1.0 / 3;
  int64_t total_iters = 5;
  void check() const;  // ValueError
  double operator()(const RatePoint& p) const;
};
struct LinearLR {
  double start_factor = 1.0 / 3, end_factor = 1;
  int64_t total_iters = 5;
  void check() const;
  double operator()(const RatePoint& p) const;
};
struct ExponentialLR {
  double gamma;
  double operator()(const RatePoint& p) const;
};
struct PolynomialLR {
  int64_t total_iters = 5;
  double power = 1;
  double operator()(const RatePoint& p) const;
};
struct CosineAnnealingLR {
  int64_t T_max;
  double eta_min = 0;
  double operator()(const RatePoint& p) const;
};
struct CosineAnnealingWarmRestarts {
  int64_t T_0, T_mult = 1;
  double eta_min = 0;
  double operator()(const RatePoint& p) const { return Schedule::cosine_restarts(p.base, eta_min, T_0, T_mult)(p.step); }
};
// Momentum, or beta1, is cycled inversely, unless cycle_momentum is false.
struct CyclicLR {
  double base_lr, max_lr;
  double step_size_up = 2000, step_size_down = 0;  // down: 0 means the same as up
  std::string mode = "triangular";                 // or "triangular2", "exp_range"
  double gamma = 1;
  std::function<double(double)> scale_fn = {};  // instead of mode: a function of the cycle number, or of the step
  std::string scale_mode = "cycle";             // or "iterations"
  bool cycle_momentum = true;
  double base_momentum = 0.8, max_momentum = 0.9;
  double operator()(const RatePoint& p) const;
  std::optional<double> momentum(int64_t step) const;
};
struct OneCycleLR {
  double max_lr;
  int64_t total_steps = 0;  // 0: epochs * steps_per_epoch
  int64_t epochs = 0, steps_per_epoch = 0;
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";  // or "linear"
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95, div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
  double operator()(const RatePoint& p) const;  // ValueError after total_steps
  int64_t length() const { return total_steps ? total_steps : epochs * steps_per_epoch; }
  std::optional<double> momentum(int64_t step) const;
};
// Anneals to swa_lr over anneal_epochs steps, by a cosine ("cos") or linearly ("linear"): for weight averaging.
struct SWALR {
  double swa_lr;
  int64_t anneal_epochs = 10;
  std::string anneal_strategy = "cos";
  void check() const;
  double operator()(const RatePoint& p) const;
};
struct NoamLR {  // Burn's
  int64_t model_size = 512, warmup_steps = 4000;
  double factor = 1;
  double operator()(const RatePoint& p) const { return Schedule::noam(factor, warmup_steps, model_size)(p.step); }
};
struct ScheduledLR {  // the rate of a schedule; the optimiser's own rate is ignored
  Schedule schedule;
  double operator()(const RatePoint& p) const { return schedule(p.step); }
};
// schedulers[i + 1] starts, at its step 0 and from the initial rate, when milestones[i] is reached.
struct SequentialLR {
  std::vector<RateRule> schedulers;
  std::vector<int64_t> milestones;
  void check() const;
  double operator()(const RatePoint& p) const;
};
struct ChainedScheduler {  // applied in order at every step
  std::vector<RateRule> schedulers;
  void check() const;
  double operator()(const RatePoint& p) const;
};

// The state that a checkpoint needs besides the optimiser's; io::to_json writes it.
struct SchedulerState {
  int64_t last_epoch = 0;
  Numbers base_lrs;
  PB_FIELDS(last_epoch, base_lrs)
};

void check_has_momentum(bool is_there);  // ValueError unless the optimiser has momentum or betas
void check_steps(int64_t steps);         // ValueError for an empty list

template <class Optimizer>
class LRScheduler {
 public:
  template <class Rule>
  LRScheduler(Optimizer& optimizer, Rule rule) : optimizer_(optimizer) {
    if constexpr (requires { rule.check(); }) rule.check();
    if constexpr (requires { rule.momentum(int64_t(0)); })
      if (rule.momentum(0)) {
        check_has_momentum(has_momentum || has_beta1);
        momentum_ = [rule](int64_t step) { return *rule.momentum(step); };
      }
    rule_ = std::move(rule);
    for (const auto& group : optimizer.param_groups) state_.base_lrs.push_back(group.options.lr);
    set_rates();
  }
  void step() {
    ++state_.last_epoch;
    set_rates();
  }
  int64_t last_epoch() const { return state_.last_epoch; }
  std::vector<double> get_last_lr() const {
    std::vector<double> rates;
    for (const auto& group : optimizer_.param_groups) rates.push_back(group.options.lr);
    return rates;
  }
  // The rates of the next steps for each group, starting with the current one. Nothing is changed.
  std::vector<std::vector<double>> rates(int64_t steps) const {
    check_steps(steps);
    std::vector<std::vector<double>> curves;
    for (size_t i = 0; i < optimizer_.param_groups.size(); ++i) {
      double now = optimizer_.param_groups[i].options.lr;
      const double base = int64_t(i) < state_.base_lrs.size() ? state_.base_lrs[int64_t(i)] : now;  // now: for a group that was added later
      auto& curve = curves.emplace_back(1, now);
      for (int64_t step = 1; step < steps; ++step) curve.push_back(now = rule_({base, now, state_.last_epoch + step}));
    }
    return curves;
  }
  const SchedulerState& state_dict() const { return state_; }
  void load_state_dict(SchedulerState state) { state_ = std::move(state); }  // the rates are in the optimiser's groups

 private:
  using Options = std::remove_reference_t<decltype(std::declval<Optimizer&>().param_groups[0].options)>;
  static constexpr bool has_momentum = requires(Options o) { o.momentum; }
  , has_beta1 = requires(Options o) { o.beta1; };

  void set_rates() {
    for (size_t i = 0; i < optimizer_.param_groups.size(); ++i) {
      Options& options = optimizer_.param_groups[i].options;
      if (int64_t(i) == state_.base_lrs.size()) state_.base_lrs.push_back(options.lr);  // a group that was added later
      options.lr = rule_({state_.base_lrs[int64_t(i)], options.lr, state_.last_epoch});
      if (!momentum_) continue;
      if constexpr (has_momentum) options.momentum = momentum_(state_.last_epoch);
      else if constexpr (has_beta1) options.beta1 = momentum_(state_.last_epoch);
    }
  }

  Optimizer& optimizer_;
  RateRule rule_;
  std::function<double(int64_t)> momentum_;
  SchedulerState state_;
};

}  // namespace pyburn::optim
