// L-BFGS: Newton's method with a Hessian remembered from the last steps. It evaluates the function several times per step.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

struct LbfgsOptions {
  double lr = 1;
  int64_t max_iter = 20, max_eval = 0;  // max_eval: 0 for 5/4 of max_iter
  double tolerance_grad = 1e-7, tolerance_change = 1e-9;
  int64_t history_size = 100;
  std::string line_search_fn;  // none, or "strong_wolfe"
  bool maximize = false;
  PB_FIELDS(lr, max_iter, max_eval, tolerance_grad, tolerance_change, history_size, line_search_fn, maximize)
  void check() const;  // ValueError
};

// Of all parameters together: their elements one after the other.
struct LbfgsState {
  int64_t func_evals = 0, n_iter = 0;
  TensorHandle d, prev_flat_grad;                // the last direction and gradient
  double t = 0, H_diag = 1, prev_loss = 0;       // the last step size, the Hessian's scale, the last value
  std::vector<TensorHandle> old_dirs, old_stps;  // changes of the gradient and of the parameters
  std::vector<double> ro;                        // 1 / their dot product
  PB_FIELDS(func_evals, n_iter, d, t, old_dirs, old_stps, ro, H_diag, prev_flat_grad, prev_loss)
};

// `loss` computes the function, sets the gradients of the parameters and gives the value; it is called with gradients enabled. Returns
// the first value.
double lbfgs_step(const LbfgsOptions&, const std::vector<TensorHandle>& parameters, LbfgsState&, const std::function<double()>& loss);

class LBFGS {
 public:
  explicit LBFGS(std::vector<TensorHandle> parameters, LbfgsOptions options = {});
  double step(const std::function<double()>& loss) { return lbfgs_step(options, parameters_, state_, loss); }
  void zero_grad(bool set_to_none = true);
  const std::vector<TensorHandle>& parameters() const { return parameters_; }
  const LbfgsState& state_dict() const { return state_; }
  void load_state_dict(const LbfgsState& saved);  // the tensors are copied; ValueError where they do not fit the parameters
  LbfgsOptions options;                           // may be changed between steps

 private:
  std::vector<TensorHandle> parameters_;
  LbfgsState state_;
};

}  // namespace pyburn::optim
