// Norms of vectors and matrices.
#include "pyburn/ops/vector_norm.h"

#include <cmath>

#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/solvers.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const VectorNorm& a, Metas in) {
  check_dims(a.dim, in[0].shape.rank());
  require<DTypeError>(is_floating(a.result) && is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  if (a.ord < 0 || std::isinf(a.ord))
    require(count(in[0].shape, a.dim) > 0, "a norm of order {} of no elements is not defined: got {}", a.ord, in[0].shape);
  return {reduced_shape(in[0].shape, a.dim, a.keepdim), a.result};
}

TensorHandle sign_of(const TensorHandle& x) { return where(gt(x, 0), 1.0, where(lt(x, 0), -1.0, x)); }

Grads grad(const VectorNorm& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  const double p = a.ord;
  auto over = [&](const TensorHandle& t) { return TensorHandle(spread(t, a.dim, a.keepdim, c.meta(0).shape)); };
  if (p == 0) return {zeros_like(x)};
  if (p == 1) return {over(c.dy()) * sign_of(x)};
  const TensorHandle y = over(c.output()), dy = over(c.dy());
  if (std::isinf(p)) {  // equal extrema share
    const TensorHandle hit = eq(abs(x), y);
    return {where(hit, sign_of(x) * over(c.dy() / sum(hit, a.dim, a.keepdim, x.dtype())), 0.0)};
  }
  // A vector of zeros is where the norm is least: gradient 0.
  const TensorHandle zero = eq(y, 0), safe = where(zero, 1.0, y);
  if (p == 2) return {where(zero, 0.0, x * (dy / safe))};
  const TensorHandle flat = eq(x, 0), size = abs(where(flat, 1.0, x));
  const TensorHandle ratio = p < 2 ? where(flat, 0.0, pow(size / safe, p - 1)) : pow(abs(x) / safe, p - 1);
  return {where(zero, 0.0, sign_of(x) * ratio * dy)};
}
TensorHandle as_sums(const VectorNorm& a, Inputs in) {
  const TensorHandle& x = *in[0];
  const double p = a.ord;
  if (p == 0) return sum(ne(x, 0), a.dim, a.keepdim, a.result);
  if (p == 1) return sum(abs(x), a.dim, a.keepdim);
  if (p == 2) return sqrt(sum(x * x, a.dim, a.keepdim));
  if (std::isinf(p)) return p > 0 ? amax(abs(x), a.dim, a.keepdim) : amin(abs(x), a.dim, a.keepdim);
  return pow(sum(pow(abs(x), p), a.dim, a.keepdim), 1 / p);
}

}  // namespace

namespace op {
constinit OpInfo linalg_vector_norm = define<VectorNorm, infer, grad, as_sums>(
    {.schema = "linalg_vector_norm(Tensor input, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the vector norm of order ord over dim: (sum |x|^ord)^(1/ord), or the largest or smallest |x| for infinite ord.",
        .kind = Kind::reduce,
        .cast = Cast::to_result,
        .saves = inputs | outputs,
        .torch = "torch.linalg.vector_norm",
        .example = "pyburn.linalg.vector_norm(pyburn.tensor([3., 4.]))",
        .samples = R"(
t(2, 3)
t(2, 3, 4), 1, dim=(0, 2)
t(2, 3, 4), 3, dim=-2, keepdim=True
t(2, 3), 0, 1
t(2, 3), inf, 1
t(2, 3), -inf, 0
t(2, 3), 1.5
t(2, 3), -1, 1
t()
t(0, 3), dim=1
t(3, 4).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(2, 3, dtype=f16), dtype=f32
tensor([[0., 0.], [3., -4.]]), dim=1
t(0), inf ! no elements
t(2, dtype=i64) ! floating
t(2, 3), dim=2 ! dim out of range)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "norm(Tensor input, Scalar p=2, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the p-norm over dim: (sum |x|^p)^(1/p).",
        .torch = "torch.norm",
        .example = "pyburn.norm(pyburn.tensor([3., 4.]))",
        .samples = R"(
t(2, 3)
t(2, 3, 4), 1, dim=(0, 2)
t(2, 3, 4), 3, dim=-2, keepdim=True
t(2, 3), inf, 1
t()
t(0, 3), dim=1
t(3, 4).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(2, 3, dtype=f16), dtype=f32
t(2, dtype=i64) ! floating)",
        .out = true},
    {.schema = "norm.named(Tensor input, str? p, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the Frobenius norm ('fro' or None) over dim, or the nuclear norm ('nuc') of matrices.",
        .torch = "lambda x, p, *a, **k: torch.norm(x, p or 'fro', *a, **k)",
        .example = "pyburn.norm(pyburn.ones(2, 2), 'fro')",
        .samples = R"(
t(2, 3), 'fro'
t(2, 3, 4), None, dim=(0, 2)
t(2, 3, 4), 'fro', dim=-2, keepdim=True
t(), 'fro'
t(0, 3), 'fro'
t(3, 4).T, 'fro', 0
t(2, 1).expand(2, 5), 'fro'
t(2, 3, dtype=f16), 'fro', dtype=f32
t(4, 3), 'nuc'
t(2, 3, 4), 'nuc', dim=(2, 0), keepdim=True
t(3), 'nuc' ! matrices
t(2, 3), 'all' ! 'fro')",
        .out = true},
    {.schema = "dist(Tensor input, Tensor other, Scalar p=2) -> Tensor",
        .doc = "Computes the p-norm of input - other.",
        .example = "pyburn.dist(pyburn.zeros(4), pyburn.ones(4))",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3), 1
t(2, 3), t(2, 3), inf
t(), t(2)
t(0, 3), t(3)
t(3, 4).T, t(4, 3), 3
t(2, 1).expand(2, 5), t(5)
t(2, 3), t(4, 5) ! shapes do not broadcast)"},
};
}  // namespace

TensorHandle fn::norm(const TensorHandle& input, const Scalar& p, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
  return linalg_vector_norm(input, p, dim, keepdim, dtype);
}
TensorHandle fn::norm(
    const TensorHandle& input, const std::optional<std::string>& p, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
  if (p && *p == "nuc") {
    require<ValueError>(!dim || dim->size() == 2, "[norm] the nuclear norm is of matrices: got dim {}", dim.value_or(Dims{}));
    require(input.rank() >= 2, "[norm] the nuclear norm is of matrices: got {}", input.shape());
    const TensorHandle x = dtype ? cast(input, *dtype) : TensorHandle(input);
    const Dims axes = dim.value_or(Dims{-2, -1});
    const TensorHandle norms = sum(linalg_svdvals(movedim(x, axes, Dims{-2, -1})), Dims{-1});
    if (!keepdim) return norms;
    const int64_t one = normalise_dim(axes[0], input.rank()), other = normalise_dim(axes[1], input.rank());
    return unsqueeze(unsqueeze(norms, std::min(one, other)), std::max(one, other));
  }
  require<ValueError>(!p || *p == "fro", "[norm] p is a number, 'fro' or 'nuc': got '{}'", p.value_or(""));
  return linalg_vector_norm(input, 2, dim, keepdim, dtype);
}
TensorHandle fn::dist(const TensorHandle& input, const TensorHandle& other, const Scalar& p) {
  return linalg_vector_norm(input - other, p);
}

void register_vector_norm(OpTable& table) {
  table.add({&op::linalg_vector_norm});
  table.add(functions);
}

}  // namespace pyburn
