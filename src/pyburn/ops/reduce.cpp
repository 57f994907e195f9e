// Reductions over axes.
#include "pyburn/ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const Reduce& a, Metas in) {
  check_dims(a.dim, in[0].shape.rank());
  return {reduced_shape(in[0].shape, a.dim, a.keepdim), a.result};
}

Meta infer_same(const Reduce& a, Metas in) {
  check_dims(a.dim, in[0].shape.rank());
  return {reduced_shape(in[0].shape, a.dim, a.keepdim), in[0].dtype};
}
Meta infer_mean(const Reduce& a, Metas in) {
  require<DTypeError>(is_floating(a.result), "expected a floating dtype: got {}", in[0].dtype);
  return infer(a, in);
}
Meta infer_extremum(const Reduce& a, Metas in) {  // a maximum of nothing does not exist; a sum does
  const Meta result = infer(a, in);
  for (int64_t d : a.dim) require<IndexError>(in[0].shape[d] > 0, "dimension {} is empty: got {}", d, in[0].shape);
  require<DTypeError>(a.result == in[0].dtype, "an extremum keeps the dtype: got {} for {}", a.result, in[0].dtype);
  return result;
}
Meta infer_truth(const Truth& a, Metas in) {  // uint8 represents bool, as in PyTorch
  const DType result = in[0].dtype == DType::uint8 ? DType::uint8 : DType::boolean;
  if (!a.dim.empty()) check_dims(a.dim, in[0].shape.rank());
  return {reduced_shape(in[0].shape, a.dim, a.keepdim), result};
}

TensorHandle spread(const TensorHandle& y, const Reduce& a, const Meta& x) { return spread(y, a.dim, a.keepdim, x.shape); }

Grads grad_sum(const Reduce& a, const GradContext& c) { return {spread(c.dy(), a, c.meta(0))}; }
Grads grad_mean(const Reduce& a, const GradContext& c) { return {spread(c.dy() / double(count(c.meta(0).shape, a.dim)), a, c.meta(0))}; }
Grads grad_extremum(const Reduce& a, const GradContext& c) {  // equal extrema share the gradient, as in PyTorch
  const TensorHandle hit = eq(c.input(0), spread(c.output(0), a, c.meta(0)));
  const TensorHandle share = c.dy() / sum(hit, a.dim, a.keepdim, c.meta(0).dtype);
  return {where(hit, spread(share, a, c.meta(0)), 0.0)};
}

Grads grad_nansum(const Reduce& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {spread(c.dy(), a, c.meta(0)) * eq(x, x)};
}
// Of each element of the rows of x (rows, n), dy times the product of the others. Neighbours are multiplied until one product is left, and
// on the way back each of two gets the other's: no division, so derivatives of every order hold where elements are 0.
TensorHandle products_of_others(const TensorHandle& x, const TensorHandle& dy) {
  const int64_t rows = x.shape()[0], n = x.shape()[1], half = n / 2;
  if (n == 1) return dy;
  const TensorHandle even = slice(x, 1, 0, 2 * half, 2), odd = slice(x, 1, 1, 2 * half, 2), last = slice(x, 1, 2 * half);
  const TensorHandle outside = products_of_others(2 * half == n ? even * odd : cat({even * odd, last}, 1), dy);
  const TensorHandle pairs = slice(outside, 1, 0, half);
  const TensorHandle dx = reshape(stack({pairs * odd, pairs * even}, 2), Dims{rows, 2 * half});
  return 2 * half == n ? dx : cat({dx, slice(outside, 1, half)}, 1);
}
Grads grad_prod(const Reduce& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  if (x.numel() == 0 || x.rank() == 0) return {spread(c.dy(), a, c.meta(0))};
  Dims order, back(x.rank(), 0), shape;  // the axes that go away last
  for (bool reduced : {false, true})
    for (int i = 0; i < x.rank(); ++i)
      if ((std::find(a.dim.begin(), a.dim.end(), i) != a.dim.end()) == reduced) {
        back[i] = order.size();
        order.push_back(i);
        shape.push_back(x.shape()[i]);
      }
  const int64_t n = count(x.shape(), a.dim), rows = x.numel() / n;
  const TensorHandle dx = products_of_others(reshape(permute(x, order), Dims{rows, n}), reshape(c.dy(), Dims{rows, 1}));
  return {permute(reshape(dx, shape), back)};
}
Grads grad_logsumexp(const Reduce& a, const GradContext& c) {
  return {spread(c.dy(), a, c.meta(0)) * exp(c.input(0) - spread(c.output(), a, c.meta(0)))};
}
TensorHandle decompose_logsumexp(const Reduce& a, Inputs in) {
  const TensorHandle& x = *in[0];
  if (count(x.shape(), a.dim) == 0) return log(sum(x, a.dim, a.keepdim));
  const TensorHandle largest = amax(x, a.dim, true);
  const TensorHandle shift = where(eq(abs(largest), HUGE_VAL), 0.0, largest);
  const TensorHandle y = log(sum(exp(x - shift), a.dim, a.keepdim));
  return y + (a.keepdim ? shift : TensorHandle(reshape(shift, y.shape())));
}

constexpr const char* kSums = R"(
t(2, 3)
t(2, 3, 4), dim=(0, 2)
t(2, 3, 4), dim=-2, keepdim=True
t()
t(), dim=0
t(0, 3)
t(0, 3), dim=1, keepdim=True
t(3, 4).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(6, 4)[::2, 1:], dim=0
t(2, 3, dtype=f16), dtype=f32
t(2, 3), dim=1, dtype=f64
t(300, 33), dim=0
t(33, 300), dim=1
t(2, 3), dim=2 ! dim out of range
t(2, 3), dim=(1, 1) ! twice)";
constexpr const char* kExtrema = R"(
t(2, 3)
t(2, 3, 4), dim=(0, 2)
t(2, 3, 4), dim=-2, keepdim=True
t()
t(0, 3), dim=1
t(3, 4).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(2, 3, dtype=i64), dim=1
t(2, 3, dtype=f16)
t(300, 33), dim=0
t(0, 3), dim=0 ! empty
t(2, 3), dim=2 ! dim out of range)";

constexpr OpInfo summing(OpInfo row) {
  row.kind = Kind::reduce;
  row.cast = Cast::to_result;
  if (!row.samples) row.samples = kSums;
  return row;
}
constexpr OpInfo extremum(OpInfo row) {
  row.kind = Kind::reduce;
  row.saves = inputs | outputs;
  row.samples = kExtrema;
  return row;
}

constexpr OpInfo truth(OpInfo row) {
  row.kind = Kind::reduce;
  row.cast = Cast::to_result;
  row.no_grad = "the result is bool";
  row.samples = R"(
t(2, 3, dtype=b8)
t(2, 3, 4, dtype=b8), dim=(0, 2)
t(2, 3, 4), dim=-2, keepdim=True
t(dtype=b8)
t(0, 3, dtype=b8), dim=0
t(0, dtype=b8)
t(3, 4, dtype=b8).T, dim=0
t(2, 1, dtype=i64).expand(2, 5), dim=1
t(2, 3, dtype=u8), dim=1
t(2, 3), dim=()
t(300, 33, dtype=i64), dim=(), keepdim=True
tensor([0., nan])
t(2, 3), dim=2 ! dim out of range)";
  return row;
}

}  // namespace

namespace op {
constinit OpInfo sum = summing(
    define<Reduce, infer, grad_sum>({.schema = "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the sum of the elements over dim (by default over all dimensions).",
        .fusing = Fusing::ends,
        .example = "pyburn.sum(pyburn.ones(2, 3), dim=1)"}));
constinit OpInfo mean = summing(define<Reduce, infer_mean, grad_mean>(
    {.schema = "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the arithmetic mean of the elements over dim (by default over all dimensions).",
        .fusing = Fusing::ends,
        .example = "pyburn.mean(pyburn.tensor([1., 3.]))"}));
constinit OpInfo amax =
    extremum(define<Reduce, infer_extremum, grad_extremum>({.schema = "amax(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
        .doc = "Computes the maximum over dim (by default over all dimensions). Equal elements share the gradient.",
        .fusing = Fusing::ends,
        .torch = "lambda x, dim=(), keepdim=False: torch.amax(x, dim, keepdim)",
        .example = "pyburn.amax(pyburn.tensor([1., 3.]))"}));
constinit OpInfo amin =
    extremum(define<Reduce, infer_extremum, grad_extremum>({.schema = "amin(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
        .doc = "Computes the minimum over dim (by default over all dimensions). Equal elements share the gradient.",
        .fusing = Fusing::ends,
        .torch = "lambda x, dim=(), keepdim=False: torch.amin(x, dim, keepdim)",
        .example = "pyburn.amin(pyburn.tensor([1., 3.]))"}));
constinit OpInfo prod = summing(
    define<Reduce, infer, grad_prod>({.schema = "prod(Tensor input, int? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the product of the elements along dim (by default of all elements).",
        .saves = inputs,
        .torch = "lambda x, dim=None, keepdim=False, **more: torch.prod(x, **more) if dim is None else torch.prod(x, dim, keepdim, **more)",
        .example = "pyburn.prod(pyburn.tensor([2., 3.]))",
        .samples = R"(
t(2, 3)
t(2, 3, 4), dim=1
t(2, 3, 4), dim=-2, keepdim=True
t()
t(0, 3)
t(0, 3), dim=1
t(3, 4).T, 0
t(2, 1).expand(2, 5), dim=1
t(2, 3, dtype=i64), dim=0
t(2, 3, dtype=f16), dtype=f32
tensor([[1., 0., 2.], [0., 0., 3.]]).smooth, dim=1
tensor([[1., 0., 2., 3.5, 0.25], [0., 0., 3., -1., 0.5], [0., 2., 0., 0., 1.]]).smooth, dim=1
tensor([[1., 0.], [2., 0.]]).smooth
tensor([1., 0., 2.])
t(2, 3), dim=2 ! dim out of range)"}));
constinit OpInfo nansum = summing(define<Reduce, infer, grad_nansum>(
    {.schema = "nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the sum of the elements over dim; NaN counts as 0.",
        .saves = inputs,
        .example = "pyburn.nansum(pyburn.tensor([1., float('nan')]))",
        .samples = R"(
t(2, 3)
tensor([[1., nan, 3.], [nan, nan, nan]]), dim=1
t(2, 3, 4), dim=(0, 2)
t(2, 3, 4), dim=-2, keepdim=True
t()
t(0, 3)
t(3, 4).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(2, 3, dtype=i64)
t(2, 3, dtype=f16), dtype=f32
t(2, 3), dim=2 ! dim out of range)"}));
constinit OpInfo count_nonzero = define<Reduce, infer>({.schema = "count_nonzero(Tensor input, int[]? dim=None) -> Tensor",
    .doc = "Counts the non-zero elements over dim.",
    .kind = Kind::reduce,
    .no_grad = "the result is a count",
    .example = "pyburn.count_nonzero(pyburn.tensor([1., 0., 3.]))",
    .samples = R"(
t(2, 3, dtype=i64)
t(2, 3, 4, dtype=b8), dim=(0, 2)
t(2, 3), dim=-1
t()
t(0, 3), dim=0
t(3, 4, dtype=u8).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(2, 3), dim=2 ! dim out of range)"});
constinit OpInfo any = truth(define<Truth, infer_truth>({.schema = "any(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Tests whether any element over dim is non-zero.",
    .torch = "lambda x, dim=None, keepdim=False: torch.any(x, dim, keepdim)",
    .example = "pyburn.any(pyburn.tensor([True, False]))"}));
constinit OpInfo all = truth(define<Truth, infer_truth>({.schema = "all(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Tests whether all elements over dim are non-zero.",
    .torch = "lambda x, dim=None, keepdim=False: torch.all(x, dim, keepdim)",
    .example = "pyburn.all(pyburn.tensor([True, False]))"}));
constinit OpInfo logsumexp = define<Reduce, infer_same, grad_logsumexp, decompose_logsumexp>(
    {.schema = "logsumexp(Tensor input, int[] dim, bool keepdim=False) -> Tensor",
        .doc = "Computes log(sum(exp(input))) over dim in a numerically stable way.",
        .kind = Kind::reduce,
        .cast = Cast::promote_float,
        .autocast = Autocast::full,
        .saves = inputs | outputs,
        .example = "pyburn.logsumexp(pyburn.zeros(2), 0)",
        .samples = R"(
t(2, 3), 1
t(2, 3, 4), (0, 2)
t(2, 3, 4), -2, keepdim=True
t(), 0
t(0, 3), 0
t(3, 4).T, 0
t(2, 1).expand(2, 5), 1
t(2, 3, dtype=f16), 1
t(2, 3, dtype=i64), 1
tensor([[-inf, -inf], [inf, 1.]]), 1
t(2, 3), 2 ! dim out of range)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the mean of the elements over dim, ignoring NaN.",
        .example = "pyburn.nanmean(pyburn.tensor([1., float('nan'), 3.]))",
        .samples = R"(
t(2, 3)
tensor([[1., nan, 3.], [nan, nan, nan]]), dim=1
t(2, 3, 4), dim=(0, 2)
t(2, 3, 4), dim=-2, keepdim=True
t()
t(0, 3)
t(3, 4).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(2, 3, dtype=f16), dtype=f32
t(2, dtype=i64) ! floating)",
        .out = true},
    {.schema = "aminmax(Tensor input, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        .doc = "Computes the minimum and the maximum along dim, or of all elements.",
        .example = "pyburn.aminmax(pyburn.tensor([1., 3., 2.]))",
        .samples = R"(
t(2, 3)
t(2, 3), dim=1
t(2, 3, 4), dim=-2, keepdim=True
t()
t(0, 3), dim=1
t(3, 4).T, dim=0
t(2, 1).expand(2, 5), dim=1
t(5, dtype=i32)
t(0, 3), dim=0 ! empty)",
        .out = true},
    {.schema = "trace(Tensor input) -> Tensor",
        .doc = "Computes the sum of the diagonal elements of a matrix.",
        .example = "pyburn.trace(pyburn.ones(2, 2))",
        .samples = R"(
t(3, 3)
t(2, 4)
t(4, 2).T
t(0, 3)
t(1, 3).expand(3, 3)
t(2, 2, dtype=i64)
t() ! matrix
t(2) ! matrix)"},
};
}  // namespace

TensorHandle spread(const TensorHandle& y, const Dims& dim, bool keepdim, const Shape& x) {
  TensorHandle full = y;
  if (!keepdim)
    for (int64_t d : dim) full = unsqueeze(full, d);
  return expand(full, x);
}

TensorHandle fn::nanmean(const TensorHandle& input, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
  require<DTypeError>(is_floating(input.dtype()), "[nanmean] expected a floating dtype: got {}", input.dtype());
  return nansum(input, dim, keepdim, dtype) / sum(eq(input, input), dim, keepdim, DType::int64);
}
Handles<2> fn::aminmax(const TensorHandle& input, std::optional<int64_t> dim, bool keepdim) {
  const OptionalDims dims = dim ? OptionalDims(Dims{*dim}) : std::nullopt;
  return {amin(input, dims, keepdim), amax(input, dims, keepdim)};
}
TensorHandle fn::trace(const TensorHandle& input) {
  require(input.rank() == 2, "[trace] expected a matrix: got {}", input.shape());
  const int64_t columns = input.shape()[1], n = std::min(input.shape()[0], columns);
  return sum(slice(reshape(input, Dims{-1}), 0, 0, n * (columns + 1), columns + 1));
}

void register_reduce(OpTable& table) {
  table.add({&op::sum, &op::mean, &op::prod, &op::nansum, &op::count_nonzero, &op::amax, &op::amin, &op::any, &op::all, &op::logsumexp});
  table.add(functions);
}

}  // namespace pyburn
