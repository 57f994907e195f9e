// Optimisers with a separate step size for each element: Adagrad, Adadelta, RMSprop, Rprop.
#pragma once
#include "pyburn/optim/update.h"

namespace pyburn::optim {

struct AdagradOptions {
  double lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0, eps = 1e-10;
  bool maximize = false;
  PB_FIELDS(lr, lr_decay, weight_decay, initial_accumulator_value, eps, maximize)
  void check() const;  // ValueError
};
struct AdagradState {
  int64_t step = 0;
  TensorHandle sum;  // of squares
  PB_FIELDS(step, sum)
};
UpdateOf<AdagradStep> advance(const AdagradOptions&, AdagradState&, const TensorHandle& parameter);

struct AdadeltaOptions {
  double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(lr, rho, eps, weight_decay, maximize)
  void check() const;
};
struct AdadeltaState {
  int64_t step = 0;
  TensorHandle square_avg, acc_delta;
  PB_FIELDS(step, square_avg, acc_delta)
};
UpdateOf<AdadeltaStep> advance(const AdadeltaOptions&, AdadeltaState&, const TensorHandle& parameter);

struct RmspropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;
  PB_FIELDS(lr, alpha, eps, weight_decay, momentum, centered, maximize)
  void check() const;
};
struct RmspropState {
  int64_t step = 0;
  TensorHandle square_avg, momentum_buffer, grad_avg;  // the latter two only with momentum, and if centered
  PB_FIELDS(step, square_avg, momentum_buffer, grad_avg)
};
UpdateOf<RmspropStep> advance(const RmspropOptions&, RmspropState&, const TensorHandle& parameter);

struct RpropOptions {
  double lr = 1e-2, eta_minus = 0.5, eta_plus = 1.2, step_size_min = 1e-6, step_size_max = 50;  // lr: the initial step size
  bool maximize = false;
  PB_FIELDS(lr, eta_minus, eta_plus, step_size_min, step_size_max, maximize)
  void check() const;
};
struct RpropState {
  int64_t step = 0;
  TensorHandle prev, step_size;
  PB_FIELDS(step, prev, step_size)
};
UpdateOf<RpropStep> advance(const RpropOptions&, RpropState&, const TensorHandle& parameter);

}  // namespace pyburn::optim
