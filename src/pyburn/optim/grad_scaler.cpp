#include "pyburn/optim/grad_scaler.h"

#include <algorithm>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::optim {

TensorHandle unscale_gradients(const std::vector<TensorHandle>& parameters, double scale) {
  const autograd::NoGrad no_grad;
  Tensors verdicts;
  for (const TensorHandle& p : parameters) {
    const TensorHandle g = autograd::grad_of(p);
    if (!g.defined()) continue;
    require<ValueError>(g.dtype() != DType::float16, "Attempting to unscale FP16 gradients.");
    fn::mul_into(g, g, 1 / scale);
    const TensorHandle finite = fn::all(fn::isfinite(g));
    verdicts.push_back(verdicts.empty() ? finite : moved_to(verdicts[0].device(), finite));
  }
  if (verdicts.empty()) return fn::zeros({});
  return fn::cast(fn::logical_not(fn::all(fn::stack(verdicts))), DType::float32);
}

void GradScalerOptions::check() const {
  require<ValueError>(growth_factor > 1, "The growth factor must be > 1.0: got {}", growth_factor);
  require<ValueError>(backoff_factor < 1, "The backoff factor must be < 1.0: got {}", backoff_factor);
}

GradScaler::GradScaler(GradScalerOptions options) : options_(options), scale_(options.init_scale) { options_.check(); }

TensorHandle GradScaler::scale(const TensorHandle& loss) const { return loss * scale_; }

void GradScaler::begin(const void* optimizer, Stage stage) {
  if (const auto it = stages_.find(optimizer); it != stages_.end()) {
    require<ValueError>(it->second != Stage::stepped || stage != Stage::stepped, "step() has already been called since the last update().");
    require<ValueError>(it->second != Stage::stepped, "unscale_() is being called after step().");
    require<ValueError>(stage != Stage::unscaled, "unscale_() has already been called on this optimizer since the last update().");
  }
  stages_[optimizer] = stage;
}

void GradScaler::update() {
  require<ValueError>(!is_finite_.empty(), "No inf checks were recorded prior to update.");
  const bool good = std::all_of(is_finite_.begin(), is_finite_.end(), [](const auto& entry) { return entry.second; });
  if (!good) scale_ *= options_.backoff_factor;
  good_steps_ = good ? good_steps_ + 1 : 0;
  if (good_steps_ == options_.growth_interval) scale_ *= options_.growth_factor, good_steps_ = 0;
  stages_.clear(), is_finite_.clear();
}

}  // namespace pyburn::optim
