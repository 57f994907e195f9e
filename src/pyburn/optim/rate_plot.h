// Plots the learning rates of a schedule as text or as an SVG image:
//
//   std::puts(optim::curves_as_text(optim::rates(schedule, 100)).c_str());
//   optim::plot(optim::LRScheduler(optimiser, optim::CosineAnnealingLR{.T_max = 100}), 100, "rates.svg");
#pragma once
#include <filesystem>

#include "pyburn/optim/lr_scheduler.h"

namespace pyburn::optim {

using Curves = std::vector<std::vector<double>>;  // one curve per parameter group

// The rates of the next steps. Scheduler and optimiser are not changed.
Curves rates(const Schedule& schedule, int64_t steps = 100);
template <class Optimizer>
Curves rates(const LRScheduler<Optimizer>& scheduler, int64_t steps = 100) {
  return scheduler.rates(steps);
}

// ValueError if there is nothing to plot. Non-finite rates are skipped.
std::string curves_as_text(const Curves& curves, int width = 64, int height = 12);  // several lines, without a trailing newline
std::string curves_as_svg(const Curves& curves, int width = 640, int height = 360);

// Writes a file named *.svg (ValueError otherwise), or prints to the standard output.
void plot_curves(const Curves& curves, const std::filesystem::path& file = {});
template <class AnySchedule>
void plot(const AnySchedule& schedule, int64_t steps = 100, const std::filesystem::path& file = {}) {
  plot_curves(rates(schedule, steps), file);
}

}  // namespace pyburn::optim
