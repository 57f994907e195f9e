// One step of Adam or AdamW on a list of parameters. The optimisers of both languages call this.
#pragma once
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false, decoupled_weight_decay = false;  // decoupled: AdamW
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled_weight_decay)
  void check() const;  // ValueError
};

// The same with AdamW's defaults: the decay does not pass through the moments.
struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  bool amsgrad = false, maximize = false;
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, amsgrad, maximize)
  AdamOptions as_adam() const { return {lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, true}; }
  void check() const { as_adam().check(); }
};

// What is remembered of one parameter.
struct AdamState {
  int64_t step = 0;
  TensorHandle exp_avg, exp_avg_sq, max_exp_avg_sq;  // undefined before the first step; the last one only with amsgrad
  template <class Visit>
  void visit(Visit visit) {
    visit("step", step);
    visit("exp_avg", exp_avg);
    visit("exp_avg_sq", exp_avg_sq);
    visit("max_exp_avg_sq", max_exp_avg_sq);
  }
};

// `states[i]` belongs to `parameters[i]`; a parameter without a gradient is left alone. One operation per dtype and device.
void update(const AdamOptions&, const std::vector<TensorHandle>& parameters, const std::vector<AdamState*>& states);
inline void update(const AdamWOptions& o, const std::vector<TensorHandle>& parameters, const std::vector<AdamState*>& states) {
  update(o.as_adam(), parameters, states);
}

}  // namespace pyburn::optim
