// Scales the loss before backward and the gradients before the step, so that small gradients do not underflow in float16:
//
//   autograd::backward(scaler.scale(loss));
//   scaler.step(optimiser);  // left out where a gradient is infinite or NaN
//   scaler.update();
#pragma once
#include <map>
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

// Divides the gradients by `scale`. Returns found_inf, a 0-d tensor on the device of the first gradient: 1 if any gradient is infinite or
// NaN, else 0. Reads nothing from the device. ValueError for float16 gradients.
TensorHandle unscale_gradients(const std::vector<TensorHandle>& parameters, double scale);

struct GradScalerOptions {
  double init_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
  int64_t growth_interval = 2000;  // successful steps before the scale grows
  PB_FIELDS(init_scale, growth_factor, backoff_factor, growth_interval)
  void check() const;  // ValueError
};

class GradScaler {
 public:
  explicit GradScaler(GradScalerOptions options = {});
  TensorHandle scale(const TensorHandle& loss) const;
  double get_scale() const { return scale_; }

  // For gradient clipping before the step; step() calls it otherwise. ValueError if called twice before update().
  template <class Optimizer>
  void unscale_(Optimizer& optimizer) {
    begin(&optimizer, Stage::unscaled);
    is_finite_[&optimizer] = read_number(unscale_gradients(optimizer.parameters(), scale_)) == 0;
  }
  // Returns whether the step was made.
  template <class Optimizer>
  bool step(Optimizer& optimizer) {
    if (!stages_.contains(&optimizer)) unscale_(optimizer);
    begin(&optimizer, Stage::stepped);
    if (is_finite_[&optimizer]) optimizer.step();
    return is_finite_[&optimizer];
  }
  void update();  // updates the scale

 private:
  enum class Stage : uint8_t { unscaled, stepped };
  void begin(const void* optimizer, Stage stage);
  GradScalerOptions options_;
  double scale_;
  int64_t good_steps_ = 0;
  std::map<const void*, Stage> stages_;
  std::map<const void*, bool> is_finite_;
};

}  // namespace pyburn::optim
