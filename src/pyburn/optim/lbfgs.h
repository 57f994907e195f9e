// L-BFGS: a quasi-Newton method that approximates the Hessian from the last steps. It evaluates the loss several times per step.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

struct LbfgsOptions {
  double lr = 1;
  int64_t max_iter = 20, max_eval = 0;  // max_eval: 0 means 5/4 of max_iter
  double tolerance_grad = 1e-7, tolerance_change = 1e-9;
  int64_t history_size = 100;
  std::string line_search_fn;  // none, or "strong_wolfe"
  bool maximize = false;
  PB_FIELDS(lr, max_iter, max_eval, tolerance_grad, tolerance_change, history_size, line_search_fn, maximize)
  void check() const;  // ValueError
};

// State for all parameters, concatenated.
struct LbfgsState {
  int64_t func_evals = 0, n_iter = 0;
  TensorHandle d, prev_flat_grad;                // the last direction and gradient
  double t = 0, H_diag = 1, prev_loss = 0;       // the last step size, the scale of the Hessian, the last loss
  std::vector<TensorHandle> old_dirs, old_stps;  // differences of gradients and of parameters
  std::vector<double> ro;                        // 1 / their dot products
  PB_FIELDS(func_evals, n_iter, d, t, old_dirs, old_stps, ro, H_diag, prev_flat_grad, prev_loss)
};

// `loss` evaluates the function, sets the gradients of the parameters and returns the value; it is called with gradients enabled. Returns
// the first value.
double lbfgs_step(const LbfgsOptions&, const std::vector<TensorHandle>& parameters, LbfgsState&, const std::function<double()>& loss);

class LBFGS {
 public:
  explicit LBFGS(std::vector<TensorHandle> parameters, LbfgsOptions options = {});
  double step(const std::function<double()>& loss) { return lbfgs_step(options, parameters_, state_, loss); }
  void zero_grad(bool set_to_none = true);
  const std::vector<TensorHandle>& parameters() const { return parameters_; }
  const LbfgsState& state_dict() const { return state_; }
  void load_state_dict(const LbfgsState& saved);  // copies the tensors; ValueError if they do not match the parameters
  LbfgsOptions options;                           // options may be changed between steps

 private:
  std::vector<TensorHandle> parameters_;
  LbfgsState state_;
};

}  // namespace pyburn::optim
