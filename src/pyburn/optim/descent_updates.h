// Stochastic gradient descent, also with averaging of the parameters (ASGD).
#pragma once
#include "pyburn/optim/update.h"

namespace pyburn::optim {

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  PB_FIELDS(lr, momentum, dampening, weight_decay, nesterov, maximize)
  void check() const;  // ValueError
};
struct SgdState {
  TensorHandle momentum_buffer;  // undefined before the first step, and without momentum
  PB_FIELDS(momentum_buffer)
};
UpdateOf<SgdStep> advance(const SgdOptions&, SgdState&, const TensorHandle& parameter);

struct AsgdOptions {
  double lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(lr, lambd, alpha, t0, weight_decay, maximize)
  void check() const;
};
struct AsgdState {
  int64_t step = 0;
  double eta = -1, mu = 1;  // eta: the learning rate of the next step, initially lr
  TensorHandle ax;          // the average
  PB_FIELDS(step, eta, mu, ax)
};
UpdateOf<AsgdStep> advance(const AsgdOptions&, AsgdState&, const TensorHandle& parameter);

}  // namespace pyburn::optim
