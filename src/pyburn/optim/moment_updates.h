// Optimisers with running averages of the gradient and its square: Adam and variants.
#pragma once
#include "pyburn/optim/update.h"

namespace pyburn::optim {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false, decoupled_weight_decay = false;  // decoupled weight decay: AdamW
  bool cautious_weight_decay = false;                                      // decay only if the step moves towards zero, too
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled_weight_decay, cautious_weight_decay)
  void check() const;  // ValueError
};
// AdamW: the same with decoupled weight decay by default.
struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  bool amsgrad = false, maximize = false, cautious_weight_decay = false;
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, cautious_weight_decay)
  AdamOptions as_adam() const { return {lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, true, cautious_weight_decay}; }
  void check() const { as_adam().check(); }
};
// State tensors are undefined before the first step; the last one exists only with amsgrad.
struct AdamState {
  int64_t step = 0;
  TensorHandle exp_avg, exp_avg_sq, max_exp_avg_sq;
  PB_FIELDS(step, exp_avg, exp_avg_sq, max_exp_avg_sq)
};
UpdateOf<AdamStep> advance(const AdamOptions&, AdamState&, const TensorHandle& parameter);
inline UpdateOf<AdamStep> advance(const AdamWOptions& o, AdamState& s, const TensorHandle& p) { return advance(o.as_adam(), s, p); }

struct AdamaxOptions {
  double lr = 2e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, maximize)
  void check() const;
};
struct AdamaxState {
  int64_t step = 0;
  TensorHandle exp_avg, exp_inf;
  PB_FIELDS(step, exp_avg, exp_inf)
};
UpdateOf<AdamaxStep> advance(const AdamaxOptions&, AdamaxState&, const TensorHandle& parameter);

struct NAdamOptions {
  double lr = 2e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
  bool decoupled_weight_decay = false, maximize = false;
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, momentum_decay, decoupled_weight_decay, maximize)
  void check() const;
};
struct NAdamState {
  int64_t step = 0;
  double mu_product = 1;
  TensorHandle exp_avg, exp_avg_sq;
  PB_FIELDS(step, mu_product, exp_avg, exp_avg_sq)
};
UpdateOf<NAdamStep> advance(const NAdamOptions&, NAdamState&, const TensorHandle& parameter);

struct RAdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled_weight_decay = false, maximize = false;
  PB_FIELDS(lr, beta1, beta2, eps, weight_decay, decoupled_weight_decay, maximize)
  void check() const;
};
struct RAdamState {
  int64_t step = 0;
  TensorHandle exp_avg, exp_avg_sq;
  PB_FIELDS(step, exp_avg, exp_avg_sq)
};
UpdateOf<RAdamStep> advance(const RAdamOptions&, RAdamState&, const TensorHandle& parameter);

struct LionOptions {
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(lr, beta1, beta2, weight_decay, maximize)
  void check() const;
};
struct LionState {
  TensorHandle exp_avg;
  PB_FIELDS(exp_avg)
};
UpdateOf<LionStep> advance(const LionOptions&, LionState&, const TensorHandle& parameter);

struct AdanOptions {
  double lr = 1e-3, beta1 = 0.98, beta2 = 0.92, beta3 = 0.99, eps = 1e-8, weight_decay = 0;
  bool no_prox = false, maximize = false;  // no_prox: weight decay before the step, as in AdamW, instead of after it
  PB_FIELDS(lr, beta1, beta2, beta3, eps, weight_decay, no_prox, maximize)
  void check() const;
};
struct AdanState {
  int64_t step = 0;
  TensorHandle exp_avg, exp_avg_sq, exp_avg_diff, pre_grad;
  PB_FIELDS(step, exp_avg, exp_avg_sq, exp_avg_diff, pre_grad)
};
UpdateOf<AdanStep> advance(const AdanOptions&, AdanState&, const TensorHandle& parameter);

}  // namespace pyburn::optim
