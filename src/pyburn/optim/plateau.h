// Reduces the learning rate when a metric has stopped improving.
#pragma once
#include <string>

#include "pyburn/ir/fields.h"

namespace pyburn::optim {

struct PlateauOptions {
  std::string mode = "min";  // or "max"
  double factor = 0.1;
  int64_t patience = 10;  // steps without improvement
  double threshold = 1e-4;
  std::string threshold_mode = "rel";  // or "abs"
  int64_t cooldown = 0;                // steps to ignore after a reduction
  double min_lr = 0, eps = 1e-8;       // eps: smaller changes of the rate are ignored
  PB_FIELDS(mode, factor, patience, threshold, threshold_mode, cooldown, min_lr, eps)
  void check() const;  // ValueError
};

// The state; io::to_json writes it.
struct PlateauState {
  double best = 0;
  int64_t num_bad_epochs = 0, cooldown_counter = 0;
  PB_FIELDS(best, num_bad_epochs, cooldown_counter)
};

class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(PlateauOptions options = {});
  // Processes a metric, and reduces the rates of all groups if it has stopped improving.
  template <class Optimizer>
  void step(Optimizer& optimizer, double metric) {
    if (!is_time(metric)) return;
    for (auto& group : optimizer.param_groups) group.options.lr = lowered(group.options.lr);
  }
  double best() const { return state_.best; }
  const PlateauState& state_dict() const { return state_; }
  void load_state_dict(const PlateauState& state) { state_ = state; }

 private:
  bool is_time(double metric);
  double lowered(double lr) const;
  bool is_better(double metric) const;
  PlateauOptions options_;
  PlateauState state_;
};

}  // namespace pyburn::optim
