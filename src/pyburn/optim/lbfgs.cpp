#include "pyburn/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/optim/line_search.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::optim {
namespace {

// Rounded like PyTorch's value, which is a tensor with the dtype of the parameters: rounding can decide the line search.
double rounded(double x, DType dtype) { return dtype == DType::float64 ? x : double(float(x)); }
double dot(const TensorHandle& a, const TensorHandle& b) { return read_number(fn::dot(a, b)); }
double largest(const TensorHandle& x) { return x.numel() ? read_number(fn::amax(fn::abs(x))) : 0; }

// The function along a line, seen through the parameters.
class Function {
 public:
  Function(const std::vector<TensorHandle>& parameters, bool maximize, const std::function<double()>& loss)
      : parameters_(parameters), loss_(loss), sign_(maximize ? -1 : 1) {}

  // The value here; the gradients are those of the last value.
  double value() const {
    const autograd::GradMode recorded(true);
    return sign_ * loss_();
  }
  TensorHandle gradient() const {
    Tensors flat;
    for (const TensorHandle& p : parameters_) {
      const TensorHandle g = autograd::grad_of(p);
      flat.push_back(g.defined() ? fn::flatten(g) : fn::zeros(Dims{p.numel()}, p.dtype(), &p.device()));
    }
    const TensorHandle all = fn::cat(flat);
    return sign_ < 0 ? -all : all;
  }
  void move(const TensorHandle& direction, double by) const {
    int64_t at = 0;
    for (const TensorHandle& p : parameters_) {
      fn::add_into(p, p, fn::reshape(fn::narrow(direction, 0, at, p.numel()), p.shape()), by);
      at += p.numel();
    }
  }
  Tensors position() const {
    Tensors copies;
    for (const TensorHandle& p : parameters_) copies.push_back(fn::clone(p));
    return copies;
  }
  void move_to(const Tensors& position) const {
    for (size_t i = 0; i < parameters_.size(); ++i) fn::cast_into(parameters_[i], position[int64_t(i)], parameters_[i].dtype());
  }
  double sign() const { return sign_; }

 private:
  const std::vector<TensorHandle>& parameters_;
  const std::function<double()>& loss_;
  double sign_;
};

// Notes how the gradient changed along the last step.
void remember(LbfgsState& s, const TensorHandle& gradient, int64_t history) {
  const TensorHandle change = gradient - s.prev_flat_grad, step = s.d * s.t;
  const double product = dot(change, step);
  if (!(product > 1e-10)) return;  // nor where it is NaN, because the values have left the range of the dtype
  if (int64_t(s.old_dirs.size()) >= history && !s.old_dirs.empty()) {
    s.old_dirs.erase(s.old_dirs.begin());
    s.old_stps.erase(s.old_stps.begin());
    s.ro.erase(s.ro.begin());
  }
  s.old_dirs.push_back(change);
  s.old_stps.push_back(step);
  s.ro.push_back(rounded(1 / product, gradient.dtype()));
  s.H_diag = rounded(product / dot(change, change), gradient.dtype());
}

// Minus the inverse Hessian times the gradient, by the two loops over the history.
TensorHandle direction(const LbfgsState& s, const TensorHandle& gradient) {
  TensorHandle q = -gradient;
  const size_t n = s.old_dirs.size();
  std::vector<double> weights(n);
  const auto weight = [&](const TensorHandle& remembered, size_t i) { return rounded(dot(remembered, q) * s.ro[i], q.dtype()); };
  for (size_t i = n; i-- > 0;) {
    weights[i] = weight(s.old_stps[i], i);
    q = fn::sub(q, s.old_dirs[i], weights[i]);
  }
  q = q * s.H_diag;
  for (size_t i = 0; i < n; ++i) q = fn::add(q, s.old_stps[i], rounded(weights[i] - weight(s.old_dirs[i], i), q.dtype()));
  return q;
}

}  // namespace

void LbfgsOptions::check() const {
  require<ValueError>(lr >= 0, "Invalid learning rate: {}", lr);
  require<ValueError>(
      line_search_fn.empty() || line_search_fn == "strong_wolfe", "only 'strong_wolfe' is supported: got '{}'", line_search_fn);
}

double lbfgs_step(const LbfgsOptions& o, const std::vector<TensorHandle>& parameters, LbfgsState& s, const std::function<double()>& loss) {
  o.check();
  const autograd::NoGrad no_grad;
  const Function function(parameters, o.maximize, loss);
  const int64_t max_eval = o.max_eval > 0 ? o.max_eval : o.max_iter * 5 / 4;
  double value = function.value();
  const double first = function.sign() * value;
  int64_t evaluations = 1;
  ++s.func_evals;
  TensorHandle gradient = function.gradient();
  if (largest(gradient) <= o.tolerance_grad) return first;

  for (int64_t i = 1; i <= o.max_iter; ++i) {
    if (++s.n_iter == 1) {
      s.d = -gradient;
      s.old_dirs.clear(), s.old_stps.clear(), s.ro.clear();
      s.H_diag = 1;
    } else {
      remember(s, gradient, o.history_size);
      s.d = direction(s, gradient);
    }
    s.prev_flat_grad = gradient;
    s.prev_loss = value;
    s.t = s.n_iter == 1 ? rounded(std::min(1.0, 1 / read_number(fn::sum(fn::abs(gradient)))) * o.lr, gradient.dtype()) : o.lr;
    const double slope = dot(gradient, s.d);
    if (slope > -o.tolerance_change) break;

    int64_t calls = 0;
    bool optimal = false;
    if (o.line_search_fn == "strong_wolfe") {
      const Tensors start = function.position();
      auto at = [&](double t) {
        function.move(s.d, t);
        LinePoint point{t, function.value(), 0, function.gradient()};
        point.slope = dot(point.gradient, s.d);
        function.move_to(start);
        ++calls;
        return point;
      };
      const bool in_double = gradient.dtype() == DType::float64;
      const LinePoint found = strong_wolfe(at, {0, value, slope, gradient}, s.t, largest(s.d), max_eval - evaluations, in_double);
      s.t = found.at, value = found.value, gradient = found.gradient;
      function.move(s.d, s.t);
      optimal = largest(gradient) <= o.tolerance_grad;
    } else {
      function.move(s.d, s.t);
      if (i != o.max_iter) {  // what follows would not look at it
        value = function.value();
        gradient = function.gradient();
        optimal = largest(gradient) <= o.tolerance_grad;
        calls = 1;
      }
    }
    evaluations += calls;
    s.func_evals += calls;
    if (evaluations >= max_eval || optimal || largest(s.d * s.t) <= o.tolerance_change ||
        std::abs(value - s.prev_loss) < o.tolerance_change)
      break;
  }
  return first;
}

LBFGS::LBFGS(std::vector<TensorHandle> parameters, LbfgsOptions given) : options(std::move(given)), parameters_(std::move(parameters)) {
  options.check();
  check_group(parameters_, {});
}
void LBFGS::zero_grad(bool set_to_none) { zero_gradients(parameters_, set_to_none); }

void LBFGS::load_state_dict(const LbfgsState& saved) {
  int64_t elements = 0;
  for (const TensorHandle& p : parameters_) elements += p.numel();
  require<ValueError>(saved.old_dirs.size() == saved.ro.size() && saved.old_stps.size() == saved.ro.size(),
      "[LBFGS] the history of the loaded state has gaps: got {} changes of the gradient, {} of the parameters and {} products",
      saved.old_dirs.size(), saved.old_stps.size(), saved.ro.size());
  LbfgsState state = saved;
  const auto own = [&](TensorHandle& t) {
    if (!t.defined()) return;
    require<ValueError>(
        t.numel() == elements, "[LBFGS] the loaded state belongs to other parameters: got {} elements for {}", t.numel(), elements);
    t = fn::clone(t);
  };
  own(state.d), own(state.prev_flat_grad);
  for (auto* list : {&state.old_dirs, &state.old_stps})
    for (TensorHandle& t : *list) own(t);
  state_ = std::move(state);
}

}  // namespace pyburn::optim
