// One optimiser step for many tensors at once: ordinary operations that write into their parameters.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

// Inputs: n parameters, n gradients, n momentum buffers (when momentum != 0). Written: parameters, then buffers.
struct SgdStep {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false, first = false;  // first: buffers start as the gradient
  int64_t tensors = 0;
  PB_FIELDS(lr, momentum, dampening, weight_decay, nesterov, maximize, first, tensors)
  int64_t groups() const { return momentum != 0 ? 3 : 2; }
};
// Inputs: n parameters, gradients, exp_avg, exp_avg_sq, and max_exp_avg_sq when amsgrad. Written: all but gradients.
struct AdamStep {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false, decoupled = false;  // decoupled: AdamW
  int64_t step = 1, tensors = 0;                              // step counts from 1
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled, step, tensors)
  int64_t groups() const { return amsgrad ? 5 : 4; }
};

namespace op {
extern OpInfo sgd_step, adam_step;
}

void sgd_step(const SgdStep&, const Tensors& parameters, const Tensors& gradients, const Tensors& buffers);
void adam_step(const AdamStep&, const Tensors& parameters, const Tensors& gradients, const Tensors& exp_avg, const Tensors& exp_avg_sq,
    const Tensors& max_exp_avg_sq);

}  // namespace pyburn
