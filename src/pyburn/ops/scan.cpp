// Running sums, products and extrema along one axis.
#include "pyburn/ops/scan.h"

#include <algorithm>
#include <cmath>

#include "pyburn/ops/extremum.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const Scan& a, Metas in) {
  check_dim(a.dim, in[0].shape.rank());
  return {in[0].shape, a.result};
}
Meta infer_float(const Scan& a, Metas in) {
  check_dim(a.dim, in[0].shape.rank());
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return in[0];
}
MetaList infer_both(const Scan& a, Metas in) {
  check_dim(a.dim, in[0].shape.rank());
  return {in[0], {in[0].shape, DType::int64}};
}

// The scan that runs the other way.
TensorHandle back(const OpInfo& op, const Scan& a, const TensorHandle& x) {
  InputList in;
  in.add(x);
  return call(op, Scan{a.dim, x.dtype(), !a.reverse}, in);
}
TensorHandle same_way(const OpInfo& op, const Scan& a, const TensorHandle& x) {
  InputList in;
  in.add(x);
  return call(op, Scan{a.dim, x.dtype(), a.reverse}, in);
}

Grads grad_cumsum(const Scan& a, const GradContext& c) { return {back(op::cumsum, a, c.dy())}; }
// dx_j is the product of all before j, times dy_j + x_{j+1} (dy_{j+1} + x_{j+2} (...)): without a division, so that its own derivatives
// hold at zeros too. One step per element: for gradients that are differentiated again.
TensorHandle cumprod_by_steps(const Scan& a, const TensorHandle& x, const TensorHandle& y, const TensorHandle& dy) {
  const int64_t n = x.rank() ? x.shape()[int(a.dim)] : 1;
  if (x.rank() == 0 || n == 0) return dy;
  auto at = [&](const TensorHandle& t, int64_t j) { return slice(t, a.dim, j, j + 1); };
  const int64_t last = a.reverse ? 0 : n - 1, back = a.reverse ? 1 : -1;
  Tensors steps(n, TensorHandle());
  TensorHandle sum = at(dy, last);
  for (int64_t k = 0, j = last; k < n; ++k, j += back) {
    if (k) sum = at(dy, j) + at(x, j - back) * sum;
    steps[j] = sum;
  }
  const TensorHandle one = fn::ones_like(at(x, last)), before = a.reverse ? slice(y, a.dim, 1, n) : slice(y, a.dim, 0, n - 1);
  return (a.reverse ? cat({before, one}, a.dim) : cat({one, before}, a.dim)) * cat(steps, a.dim);
}
// Elements before the first 0 see products as usual. The first 0 itself sees the products without it, up to the second; later
// elements see nothing but zeros.
Grads grad_cumprod(const Scan& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  if (x.requires_grad()) return {cumprod_by_steps(a, x, c.output(), c.dy())};
  const TensorHandle zero = eq(x, 0), filled = where(zero, 1.0, x);
  const TensorHandle usual = back(op::cumsum, a, c.dy() * c.output()) / filled;
  const TensorHandle once = eq(same_way(op::cumsum, a, cast(zero, DType::int64)), 1);
  const TensorHandle without = back(op::cumsum, a, where(once, c.dy() * same_way(op::cumprod, a, filled), 0.0));
  return {where(zero, where(once, without, 0.0), usual)};
}
// Sums of dy / exp(y) in logarithms, for positive and negative dy apart.
Grads grad_logcumsumexp(const Scan& a, const GradContext& c) {
  const TensorHandle x = c.input(0), y = c.output(), &dy = c.dy();
  auto part = [&](const TensorHandle& positive) {
    const TensorHandle none = le(positive, 0);
    const TensorHandle terms = where(none, -HUGE_VAL, log(where(none, 1.0, positive)) - y);
    return exp(back(op::logcumsumexp, a, terms) + x);
  };
  return {part(dy) - part(-dy)};
}
Grads grad_both(const Scan& a, const GradContext& c) { return {grad_of_picked(c.dy(), c.output(1), a.dim, true, c.meta(0))}; }

constexpr const char* kScans = R"(
t(2, 3), 1
t(2, 3, 4), 0
t(2, 3, 4), dim=-2
t(), 0
t(0, 3), 1
t(3, 4).T, 0
t(2, 1).expand(2, 5), 1
t(2, 3, dtype=i64), 1
t(2, 3, dtype=b8), 1
t(2, 3, dtype=f16), 1, dtype=f32
t(3, 300), 1
t(300, 3), 0
t(2, 3), 2 ! dim out of range)";
constexpr const char* kExtrema = R"(
t(2, 3), 1
t(2, 3, 4), 0
t(2, 3, 4), dim=-2
t(), 0
t(0, 3), 1
t(3, 4).T, 0
t(2, 5, 1).expand(2, 5, 2), 1
t(2, 3, dtype=i64), 1
t(2, 3, dtype=f16), 1
tensor([1., nan, 3., nan]), 0
tensor([2., 1., 2., 1.]), 0
t(2, 3), 2 ! dim out of range)";

constexpr OpInfo running(OpInfo row) {
  row.cast = Cast::to_result;
  row.samples = kScans;
  return row;
}
constexpr OpInfo extremum(OpSpec spec) {
  spec.saves = later_outputs;
  spec.samples = kExtrema;
  return define<Scan, infer_both, grad_both>(spec);
}

}  // namespace

namespace op {
constinit OpInfo cumsum =
    running(define<Scan, infer, grad_cumsum>({.schema = "cumsum(Tensor input, int dim, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the cumulative sum along dim.",
        .in_place = true,
        .example = "pyburn.cumsum(pyburn.tensor([1., 2., 3.]), 0)"}));
constinit OpInfo cumprod =
    running(define<Scan, infer, grad_cumprod>({.schema = "cumprod(Tensor input, int dim, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the cumulative product along dim.",
        .saves = inputs | outputs,
        .in_place = true,
        .example = "pyburn.cumprod(pyburn.tensor([1., 2., 3.]), 0)"}));
constinit OpInfo logcumsumexp = define<Scan, infer_float, grad_logcumsumexp>({.schema = "logcumsumexp(Tensor input, int dim) -> Tensor",
    .doc = "Computes log(cumsum(exp(input))) along dim in a numerically stable way.",
    .saves = inputs | outputs,
    .example = "pyburn.logcumsumexp(pyburn.zeros(3), 0)",
    .samples = R"(
t(2, 3), 1
t(2, 3, 4), 0
t(2, 3, 4), dim=-2
t(), 0
t(0, 3), 1
t(3, 4).T, 0
t(2, 1).expand(2, 5), 1
t(2, 3, dtype=f16), 1
tensor([-inf, -inf, 1., inf]), 0
t(2, dtype=i64), 0 ! floating
t(2, 3), 2 ! dim out of range)"});
constinit OpInfo cummax = extremum({.schema = "cummax(Tensor input, int dim) -> (Tensor values, Tensor indices)",
    .doc = "Computes the cumulative maximum along dim and its indices.",
    .example = "pyburn.cummax(pyburn.tensor([1., 3., 2.]), 0)"});
constinit OpInfo cummin = extremum({.schema = "cummin(Tensor input, int dim) -> (Tensor values, Tensor indices)",
    .doc = "Computes the cumulative minimum along dim and its indices.",
    .example = "pyburn.cummin(pyburn.tensor([3., 1., 2.]), 0)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
        .doc = "Computes the n-th differences of neighbouring elements along dim, after prepend and append are concatenated.",
        .example = "pyburn.diff(pyburn.tensor([1., 3., 2.]))",
        .samples = R"(
t(2, 3)
t(2, 3), 2
t(4, 3), dim=0
t(2, 3), n=5
t(2, 3), n=0
t(2, 3), 1, -1, t(2, 1)
t(2, 3), 2, 0, append=t(1, 3)
t(2, 3), prepend=t(2, 2), append=t(2, 1)
t(0, 3)
t(3, 4).T
t(2, 1).expand(2, 5)
t(5, dtype=i64)
t(5, dtype=b8)
t() ! dimension
t(3), -1 ! n)",
        .out = true},
};
}  // namespace

TensorHandle fn::diff(const TensorHandle& input, int64_t n, int64_t dim, const TensorHandle& prepend, const TensorHandle& append) {
  require(input.rank() > 0, "[diff] expected at least one dimension: got rank 0");
  require<ValueError>(n >= 0, "[diff] expected n of at least 0: got {}", n);
  const int axis = normalise_dim(dim, input.rank());
  if (n == 0) return clone(input);
  Tensors parts;
  for (const TensorHandle* part : {&prepend, &input, &append})
    if (part->defined()) parts.push_back(*part);
  TensorHandle y = parts.size() == 1 ? input : cat(parts, axis);
  for (int64_t i = 0, most = std::min(n, y.shape()[axis] + 1); i < most; ++i) {
    const TensorHandle later = slice(y, axis, 1), earlier = slice(y, axis, 0, -1);
    y = input.dtype() == DType::boolean ? ne(later, earlier) : later - earlier;
  }
  return y;
}

void register_scan(OpTable& table) {
  table.add({&op::cumsum, &op::cumprod, &op::logcumsumexp, &op::cummax, &op::cummin});
  table.add(functions);
}

}  // namespace pyburn
