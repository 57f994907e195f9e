#include "pyburn/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pyburn/support/error.h"

namespace pyburn::optim {
namespace {

double cosine_between(double start, double end, double part) { return end + (start - end) / 2 * (1 + std::cos(std::numbers::pi * part)); }
double line_between(double start, double end, double part) { return start + (end - start) * part; }

void check_positive(const char* what, double value) { require<ValueError>(value > 0, "{} must be positive: got {}", what, value); }

// fold(total, rate of the next one) over all of them.
template <class Fold>
Schedule folded(std::vector<Schedule> schedules, double scale, double start, Fold fold) {
  require<ValueError>(!schedules.empty(), "expected at least one schedule");
  return Schedule([=, all = std::move(schedules)](int64_t step) {
    double total = start;
    for (const Schedule& s : all) total = fold(total, s(step));
    return total * scale;
  });
}

}  // namespace

Schedule Schedule::constant(double rate) {
  return Schedule([=](int64_t) { return rate; });
}
Schedule Schedule::linear(double initial, double final_rate, int64_t steps) {
  check_positive("the number of steps", double(steps));
  return Schedule([=](int64_t step) { return line_between(initial, final_rate, double(std::min(step, steps)) / double(steps)); });
}
Schedule Schedule::cosine(double initial, double smallest, int64_t steps) {
  check_positive("the number of steps", double(steps));
  return Schedule([=](int64_t step) { return cosine_between(initial, smallest, double(step) / double(steps)); });
}
Schedule Schedule::exponential(double initial, double gamma) {
  return Schedule([=](int64_t step) { return initial * std::pow(gamma, double(step)); });
}
Schedule Schedule::step(double initial, int64_t step_size, double gamma) {
  check_positive("step_size", double(step_size));
  return Schedule([=](int64_t step) { return initial * std::pow(gamma, double(step / step_size)); });
}
Schedule Schedule::noam(double factor, int64_t warmup_steps, int64_t model_size) {
  check_positive("warmup_steps", double(warmup_steps));
  check_positive("model_size", double(model_size));
  return Schedule([=](int64_t step) {
    const double s = double(step + 1);
    return factor / std::sqrt(double(model_size)) * std::min(1 / std::sqrt(s), s * std::pow(double(warmup_steps), -1.5));
  });
}

Schedule Schedule::multi_step(std::vector<int64_t> milestones, double gamma) {
  std::sort(milestones.begin(), milestones.end());
  return Schedule([gamma, at = std::move(milestones)](
                      int64_t step) { return std::pow(gamma, double(std::upper_bound(at.begin(), at.end(), step) - at.begin())); });
}
Schedule Schedule::constant_factor(double factor, int64_t total_iters) {
  return Schedule([=](int64_t step) { return step < total_iters || total_iters <= 0 ? factor : 1.0; });
}
Schedule Schedule::linear_factor(double start, double end, int64_t total_iters) {
  return Schedule([=](int64_t step) {
    return total_iters > 0 ? line_between(start, end, double(std::min(step, total_iters)) / double(total_iters)) : start;
  });
}
Schedule Schedule::polynomial(int64_t total_iters, double power) {
  return Schedule(
      [=](int64_t step) { return total_iters > 0 ? std::pow(1 - double(std::min(step, total_iters)) / double(total_iters), power) : 1.0; });
}

Schedule Schedule::cosine_restarts(double initial, double smallest, int64_t first_period, int64_t period_factor) {
  require<ValueError>(first_period > 0, "Expected positive integer T_0, but got {}", first_period);
  require<ValueError>(period_factor >= 1, "Expected integer T_mult >= 1, but got {}", period_factor);
  return Schedule([=](int64_t step) {
    int64_t at = step, period = first_period;
    if (period_factor == 1) at %= period;
    else
      while (at >= period) at -= period, period *= period_factor;
    return cosine_between(initial, smallest, double(at) / double(period));
  });
}

Schedule Schedule::cyclic(const Cycle& c) {
  require<ValueError>(c.scale_fn || c.mode == "triangular" || c.mode == "triangular2" || c.mode == "exp_range",
      "mode is invalid and scale_fn is None: got '{}'", c.mode);
  check_positive("step_size_up", c.step_size_up);
  const double up = c.step_size_up, total = up + (c.step_size_down > 0 ? c.step_size_down : up);
  return Schedule([=](int64_t step) {
    const double cycle = std::floor(1 + double(step) / total), x = 1 + double(step) / total - cycle, ratio = up / total;
    const double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
    const auto scale = [&] {
      if (c.scale_fn) return c.scale_fn(c.scale_mode == "cycle" ? cycle : double(step));
      return c.mode == "triangular2" ? std::pow(0.5, cycle - 1) : c.mode == "exp_range" ? std::pow(c.gamma, double(step)) : 1;
    };
    return c.base + (c.max - c.base) * height * scale();
  });
}

Schedule Schedule::one_cycle(const OneCycle& c) {
  require<ValueError>(c.total_steps > 0, "Expected positive integer total_steps, but got {}", c.total_steps);
  require<ValueError>(c.pct_start >= 0 && c.pct_start <= 1, "Expected float between 0 and 1 pct_start, but got {}", c.pct_start);
  require<ValueError>(
      c.anneal == "cos" || c.anneal == "linear", "anneal_strategy must be one of 'cos' or 'linear', instead got {}", c.anneal);
  struct Phase {
    double end, from, to;
  };
  const double first = c.max / c.div_factor, last = first / c.final_div_factor, up = c.pct_start * double(c.total_steps) - 1;
  std::vector<Phase> phases{{up, first, c.max}};
  if (c.three_phase) phases.push_back({2 * c.pct_start * double(c.total_steps) - 2, c.max, first});
  phases.push_back({double(c.total_steps - 1), c.three_phase ? first : c.max, last});
  auto* between = c.anneal == "cos" ? cosine_between : line_between;
  return Schedule([=](int64_t step) {
    double begin = 0;
    for (size_t i = 0;; begin = phases[i++].end)
      if (double(step) <= phases[i].end || i + 1 == phases.size())
        return between(phases[i].from, phases[i].to, (double(step) - begin) / (phases[i].end - begin));
  });
}

Schedule Schedule::sequential(std::vector<Schedule> schedules, std::vector<int64_t> milestones) {
  require<ValueError>(schedules.size() == milestones.size() + 1, "expected one milestone less than schedules: got {} for {}",
      milestones.size(), schedules.size());
  require<ValueError>(std::is_sorted(milestones.begin(), milestones.end()), "milestones must be increasing");
  return Schedule([all = std::move(schedules), at = std::move(milestones)](int64_t step) {
    const size_t i = size_t(std::upper_bound(at.begin(), at.end(), step) - at.begin());
    return all[i](i ? step - at[i - 1] : step);
  });
}
Schedule Schedule::product(std::vector<Schedule> schedules) {
  return folded(std::move(schedules), 1, 1, [](double total, double rate) { return total * rate; });
}
Schedule Schedule::sum(std::vector<Schedule> schedules) {
  return folded(std::move(schedules), 1, 0, [](double total, double rate) { return total + rate; });
}
Schedule Schedule::average(std::vector<Schedule> schedules) {
  const double scale = 1 / double(std::max<size_t>(1, schedules.size()));
  return folded(std::move(schedules), scale, 0, [](double total, double rate) { return total + rate; });
}

}  // namespace pyburn::optim
