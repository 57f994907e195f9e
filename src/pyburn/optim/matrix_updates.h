// Optimisers that treat parameters as matrices: Muon and Adafactor.
#pragma once
#include <vector>

#include "pyburn/optim/update.h"

namespace pyburn::optim {

// Orthogonalises the momentum of a matrix by a Newton-Schulz iteration. For matrices only.
struct MuonOptions {
  double lr = 1e-3, weight_decay = 0.1, momentum = 0.95;
  bool nesterov = true;
  double ns_a = 3.4445, ns_b = -4.7750, ns_c = 2.0315, eps = 1e-7;  // the coefficients of the iteration
  int64_t ns_steps = 5;
  std::string adjust_lr_fn = "original";  // or "match_rms_adamw", "spectral_unclamped"
  PB_FIELDS(lr, weight_decay, momentum, nesterov, ns_a, ns_b, ns_c, eps, ns_steps, adjust_lr_fn)
  void check() const;  // ValueError
};
struct MuonState {
  TensorHandle momentum_buffer;
  PB_FIELDS(momentum_buffer)
};
void update(const MuonOptions&, const std::vector<TensorHandle>& parameters, const std::vector<MuonState*>& states,
    const GradientClipping& clip = {});

// Adam with factored second moments (a row and a column), and step sizes relative to the parameter.
struct AdafactorOptions {
  double lr = 1e-2, beta2_decay = -0.8;
  std::optional<Scalar> eps1;  // default: the machine epsilon of the dtype
  double eps2 = 1e-3, d = 1, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(lr, beta2_decay, eps1, eps2, d, weight_decay, maximize)
  void check() const;
};
struct AdafactorState {
  int64_t step = 0;
  TensorHandle row_var, col_var;  // of matrices
  TensorHandle variance;          // of vectors
  PB_FIELDS(step, row_var, col_var, variance)
};
void update(const AdafactorOptions&, const std::vector<TensorHandle>& parameters, const std::vector<AdafactorState*>& states,
    const GradientClipping& clip = {});

}  // namespace pyburn::optim
