#include "pyburn/optim/matrix_updates.h"

#include <algorithm>
#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::optim {
namespace {

// Calls step(parameter, gradient, state) for parameters with a gradient.
template <class State, class Step>
void for_each_gradient(
    const std::vector<TensorHandle>& parameters, const std::vector<State*>& states, const GradientClipping& clip, Step step) {
  const autograd::NoGrad no_grad;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (const TensorHandle g = autograd::grad_of(parameters[i]); g.defined()) step(parameters[i], clip(g), *states[i]);
}

// U V' of the singular value decomposition, roughly: the singular values end between 0.5 and 1.5, which is enough.
TensorHandle orthogonal(const TensorHandle& matrix, const MuonOptions& o) {
  const bool tall = matrix.shape()[0] > matrix.shape()[1];
  TensorHandle x = fn::cast(matrix, DType::bfloat16);
  if (tall) x = fn::transpose(x, 0, 1);
  x = x / fn::clamp_min(fn::linalg_vector_norm(x), o.eps);
  for (int64_t i = 0; i < o.ns_steps; ++i) {
    const TensorHandle gram = fn::matmul(x, fn::transpose(x, 0, 1));
    x = fn::addmm(x, fn::addmm(gram, gram, gram, o.ns_b, o.ns_c), x, o.ns_a);
  }
  return tall ? fn::transpose(x, 0, 1) : x;
}

// Matrices of any form shall take steps of like size.
double adjusted(const MuonOptions& o, const Shape& shape) {
  const double rows = double(shape[0]), columns = double(shape[1]);
  if (o.adjust_lr_fn == "match_rms_adamw") return o.lr * 0.2 * std::sqrt(std::max(rows, columns));
  if (o.adjust_lr_fn == "spectral_unclamped") return o.lr * std::sqrt(rows / columns);
  return o.lr * std::sqrt(std::max(1.0, rows / columns));
}

double root_mean_square(const TensorHandle& x) { return read_number(fn::linalg_vector_norm(x)) / std::sqrt(double(x.numel())); }

double smallest_step_from_one(DType d) {
  switch (d) {
    case DType::float64:
      return 0x1p-52;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

// The mean of the squares of g over one axis.
TensorHandle mean_square(const TensorHandle& g, int64_t axis) {
  const TensorHandle norm = fn::linalg_vector_norm(g, 2, Dims{axis}, true);
  return norm * norm / double(g.shape()[g.rank() + int(axis)]);
}

// The estimate of the squares of gradients, all the state brought forward.
TensorHandle squares(AdafactorState& s, const TensorHandle& g, double rate, double eps) {
  auto move = [&](TensorHandle& average, const TensorHandle& to) { fn::lerp_into(average, average, to, rate); };
  if (g.rank() < 2) {
    move(s.variance, g * g);
    return s.variance;
  }
  move(s.row_var, mean_square(g, -1));
  move(s.col_var, mean_square(g, -2));
  return fn::matmul(s.row_var, s.col_var) / fn::clamp_min(fn::mean(s.row_var, Dims{-2}, true), eps);
}

void start(AdafactorState& s, const TensorHandle& g) {
  if (s.row_var.defined() || s.variance.defined()) return;
  if (g.rank() < 2) {
    s.variance = fn::zeros_like(g);
    return;
  }
  s.row_var = fn::zeros_like(mean_square(g, -1));
  s.col_var = fn::zeros_like(mean_square(g, -2));
}

}  // namespace

void MuonOptions::check() const {
  require<ValueError>(lr >= 0, "Learning rate should be >= 0 but is: {}", lr);
  require<ValueError>(momentum >= 0, "momentum should be >= 0 but is: {}", momentum);
  require<ValueError>(weight_decay >= 0, "weight decay should be >= 0 but is: {}", weight_decay);
  require<ValueError>(adjust_lr_fn == "original" || adjust_lr_fn == "match_rms_adamw" || adjust_lr_fn == "spectral_unclamped",
      "Adjust learning rate function {} is not supported", adjust_lr_fn);
  require<ValueError>(
      ns_steps >= 0 && ns_steps < 100, "Number of steps must be less than 100 for computational efficiency: got {}", ns_steps);
}
void update(const MuonOptions& o, const std::vector<TensorHandle>& parameters, const std::vector<MuonState*>& states,
    const GradientClipping& clip) {
  for_each_gradient(parameters, states, clip, [&](const TensorHandle& p, const TensorHandle& g, MuonState& s) {
    require<ValueError>(p.rank() == 2, "Muon only supports 2D parameters whereas we found a parameter with size: {}", p.shape());
    const TensorHandle& buffer = started(s.momentum_buffer, p);
    fn::lerp_into(buffer, buffer, g, 1 - o.momentum);
    const TensorHandle direction = orthogonal(o.nesterov ? fn::lerp(g, buffer, o.momentum) : buffer, o);
    fn::sub_into(p, p * (1 - o.lr * o.weight_decay), direction, adjusted(o, p.shape()));
  });
}

void AdafactorOptions::check() const {
  require<ValueError>(lr >= 0, "Learning rate should be >= 0 but is: {}", lr);
  require<ValueError>(beta2_decay <= 0, "beta2_decay should be <= 0 but is: {}", beta2_decay);
  require<ValueError>(!eps1 || eps1->to_double() >= 0, "epsilon1 should be >= 0 but is: {}", eps1 ? eps1->to_double() : 0);
  require<ValueError>(eps2 >= 0, "epsilon2 should be >= 0 but is: {}", eps2);
  require<ValueError>(d >= 1, "Clipping threshold d should be >= 1 but is: {}", d);
  require<ValueError>(weight_decay >= 0, "weight_decay should be >= 0 but is: {}", weight_decay);
}
void update(const AdafactorOptions& o, const std::vector<TensorHandle>& parameters, const std::vector<AdafactorState*>& states,
    const GradientClipping& clip) {
  for_each_gradient(parameters, states, clip, [&](const TensorHandle& p, const TensorHandle& given, AdafactorState& s) {
    if (p.numel() == 0) return;
    const TensorHandle g = o.maximize ? -given : given;
    start(s, g);
    const double t = double(++s.step), eps = o.eps1 ? o.eps1->to_double() : smallest_step_from_one(p.dtype());
    const double size = std::max(o.eps2, root_mean_square(p)) * std::min(o.lr, 1 / std::sqrt(t));
    const TensorHandle change = fn::rsqrt(fn::clamp_min(squares(s, g, std::pow(t, o.beta2_decay), eps), eps * eps)) * g;
    const double excess = std::max(1.0, root_mean_square(change) / o.d);
    fn::sub_into(p, p * (1 - o.lr * o.weight_decay), change, size / excess);
  });
}

}  // namespace pyburn::optim
