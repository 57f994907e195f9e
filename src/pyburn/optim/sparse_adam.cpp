#include "pyburn/optim/sparse_adam.h"

#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"

namespace pyburn::optim {

void SparseAdamOptions::check() const {
  require<ValueError>(lr > 0, "Invalid learning rate: {}", lr);
  require<ValueError>(eps > 0, "Invalid epsilon value: {}", eps);
  check_beta(0, beta1);
  check_beta(1, beta2);
}

void advance_sparse(const SparseAdamOptions& o, SparseAdamState& s, const TensorHandle& p, const TensorHandle& gradient) {
  const autograd::NoGrad no_grad;
  const TensorHandle g = o.maximize ? -gradient : gradient, seen = fn::ne(g, 0);
  const TensorHandle &average = started(s.exp_avg, p), &square = started(s.exp_avg_sq, p);
  const double t = double(++s.step), size = o.lr * std::sqrt(1 - std::pow(o.beta2, t)) / (1 - std::pow(o.beta1, t));
  fn::add_into(average, average, fn::where(seen, (g - average) * (1 - o.beta1), 0.0));
  fn::add_into(square, square, fn::where(seen, (g * g - square) * (1 - o.beta2), 0.0));
  fn::sub_into(p, p, fn::where(seen, average / (fn::sqrt(square) + o.eps) * size, 0.0));
}

void update(const SparseAdamOptions& o, const std::vector<TensorHandle>& parameters, const std::vector<SparseAdamState*>& states,
    const GradientClipping& clip) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (const TensorHandle g = autograd::grad_of(parameters[i]); g.defined()) advance_sparse(o, *states[i], parameters[i], clip(g));
}

}  // namespace pyburn::optim
