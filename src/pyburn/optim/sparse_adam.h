// SparseAdam: Adam that does not update elements, and their averages, whose gradient is zero, such as rows of a table that were not looked
// up. Gradients are dense here; the steps equal PyTorch's for sparse ones.
#pragma once
#include "pyburn/optim/optimizer.h"

namespace pyburn::optim {

struct SparseAdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool maximize = false;
  PB_FIELDS(lr, beta1, beta2, eps, maximize)
  void check() const;  // ValueError
};
struct SparseAdamState {
  int64_t step = 0;
  TensorHandle exp_avg, exp_avg_sq;
  PB_FIELDS(step, exp_avg, exp_avg_sq)
};
// One step of one parameter along `gradient`.
void advance_sparse(const SparseAdamOptions&, SparseAdamState&, const TensorHandle& parameter, const TensorHandle& gradient);
void update(const SparseAdamOptions&, const std::vector<TensorHandle>& parameters, const std::vector<SparseAdamState*>& states,
    const GradientClipping& clip = {});

using SparseAdam = Optimizer<SparseAdamOptions, SparseAdamState>;

}  // namespace pyburn::optim
