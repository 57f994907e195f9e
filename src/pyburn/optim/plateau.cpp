#include "pyburn/optim/plateau.h"

#include <algorithm>
#include <limits>

#include "pyburn/support/error.h"

namespace pyburn::optim {

void PlateauOptions::check() const {
  require<ValueError>(factor < 1, "Factor should be < 1.0: got {}", factor);
  require<ValueError>(mode == "min" || mode == "max", "mode {} is unknown!", mode);
  require<ValueError>(threshold_mode == "rel" || threshold_mode == "abs", "threshold mode {} is unknown!", threshold_mode);
}

ReduceLROnPlateau::ReduceLROnPlateau(PlateauOptions options) : options_(std::move(options)) {
  options_.check();
  state_.best = options_.mode == "min" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

bool ReduceLROnPlateau::is_better(double metric) const {
  const double sign = options_.mode == "min" ? 1 : -1, t = sign * options_.threshold;
  const double goal = options_.threshold_mode == "rel" ? state_.best * (1 - t) : state_.best - t;
  return sign * metric < sign * goal;
}

bool ReduceLROnPlateau::is_time(double metric) {
  auto& [best, bad, cooling] = state_;
  bad = is_better(metric) ? 0 : bad + 1;
  if (bad == 0) best = metric;
  if (cooling > 0) --cooling, bad = 0;
  if (bad <= options_.patience) return false;
  cooling = options_.cooldown, bad = 0;
  return true;
}

double ReduceLROnPlateau::lowered(double lr) const {
  const double lower = std::max(lr * options_.factor, options_.min_lr);
  return lr - lower > options_.eps ? lower : lr;
}

}  // namespace pyburn::optim
