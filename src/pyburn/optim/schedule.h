// Learning rates as functions of the step: callable values that can be multiplied, added, averaged and concatenated.
//
//   const Schedule warm_up = Schedule::linear(1e-8, 1, 2000), rate = warm_up * Schedule::cosine(1e-2, 0, 10000);
//   for (auto& group : adam.param_groups) group.options.lr = rate(step);
//
// The factors of PyTorch's schedulers, which multiply the initial rate, have the same names here.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pyburn::optim {

class Schedule {
 public:
  explicit Schedule(std::function<double(int64_t step)> rate) : rate_(std::move(rate)) {}  // any other rule
  double operator()(int64_t step) const { return rate_(step); }

  // --- rates, as in Burn ---
  static Schedule constant(double rate);
  static Schedule linear(double initial, double final_rate, int64_t steps);                    // constant afterwards
  static Schedule cosine(double initial, double smallest, int64_t steps);                      // half a cosine wave down, then up again
  static Schedule exponential(double initial, double gamma);                                   // initial * gamma^step
  static Schedule step(double initial, int64_t step_size, double gamma = 0.1);                 // multiplied by gamma every step_size steps
  static Schedule noam(double factor, int64_t warmup_steps = 4000, int64_t model_size = 512);  // linear warm-up, then 1 / sqrt(step)

  // --- factors, as in PyTorch; the first one is constant if total_iters is 0 ---
  static Schedule multi_step(std::vector<int64_t> milestones, double gamma = 0.1);
  static Schedule constant_factor(double factor = 1.0 / 3, int64_t total_iters = 5);  // then 1
  static Schedule linear_factor(double start = 1.0 / 3, double end = 1, int64_t total_iters = 5);
  static Schedule polynomial(int64_t total_iters = 5, double power = 1);

  // --- rates between bounds ---
  static Schedule cosine_restarts(double initial, double smallest, int64_t first_period, int64_t period_factor = 1);
  struct Cycle {
    double base, max;
    double step_size_up = 2000, step_size_down = 0;  // down: 0 means the same as up
    std::string mode = "triangular";                 // or "triangular2", "exp_range"
    double gamma = 1;
    std::function<double(double)> scale_fn = {};  // instead of mode: a function of the cycle number, or of the step
    std::string scale_mode = "cycle";             // or "iterations"
  };
  static Schedule cyclic(const Cycle&);
  struct OneCycle {
    double max;
    int64_t total_steps;
    double pct_start = 0.3;
    std::string anneal = "cos";  // or "linear"
    double div_factor = 25, final_div_factor = 1e4;
    bool three_phase = false;
  };
  static Schedule one_cycle(const OneCycle&);

  // --- combinations ---
  // schedules[i + 1] starts, at its step 0, at milestones[i]. ValueError unless milestones increase and are one fewer.
  static Schedule sequential(std::vector<Schedule> schedules, std::vector<int64_t> milestones);
  static Schedule product(std::vector<Schedule> schedules);
  static Schedule sum(std::vector<Schedule> schedules);
  static Schedule average(std::vector<Schedule> schedules);
  friend Schedule operator*(const Schedule& a, const Schedule& b) { return product({a, b}); }
  friend Schedule operator+(const Schedule& a, const Schedule& b) { return sum({a, b}); }

 private:
  std::function<double(int64_t)> rate_;
};

}  // namespace pyburn::optim
