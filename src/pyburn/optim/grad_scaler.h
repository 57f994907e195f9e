// Losses are scaled up before backward, gradients down before the step, so that small gradients do not vanish in float16:
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

// Divides the gradients by `scale`. Returns found_inf, a float32 scalar on the device of the first one: 1 if any is infinite or NaN, else
// 0. Nothing is read from the device. ValueError for gradients of float16.
TensorHandle unscale_gradients(const std::vector<TensorHandle>& parameters, double scale);

struct GradScalerOptions {
  double init_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
  int64_t growth_interval = 2000;  // good steps before the scale grows
  PB_FIELDS(init_scale, growth_factor, backoff_factor, growth_interval)
  void check() const;  // ValueError
};

class GradScaler {
 public:
  explicit GradScaler(GradScalerOptions options = {});
  TensorHandle scale(const TensorHandle& loss) const;
  double get_scale() const { return scale_; }

  // For clipping in between; step() does it by itself. ValueError when called twice before update().
  template <class Optimizer>
  void unscale_(Optimizer& optimizer) {
    begin(&optimizer, Stage::unscaled);
    is_finite_[&optimizer] = read_number(unscale_gradients(optimizer.parameters(), scale_)) == 0;
  }
  // Whether the step was made.
  template <class Optimizer>
  bool step(Optimizer& optimizer) {
    if (!stages_.contains(&optimizer)) unscale_(optimizer);
    begin(&optimizer, Stage::stepped);
    if (is_finite_[&optimizer]) optimizer.step();
    return is_finite_[&optimizer];
  }
  void update();  // the scale of the next round

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
