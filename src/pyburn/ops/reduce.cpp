// Reductions over axes.
#include "pyburn/ops/reduce.h"

#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const Reduce& a, Metas in) {
  check_dims(a.dim, in[0].shape.rank());
  return {reduced_shape(in[0].shape, a.dim, a.keepdim), a.result};
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
Meta infer_arg(const ArgReduce& a, Metas in) {
  const Shape& shape = in[0].shape;
  if (a.dim < 0) {
    require<IndexError>(shape.numel() > 0, "expected a tensor with elements: got {}", shape);
    return {a.keepdim ? Shape(Dims(shape.rank(), 1)) : Shape{}, DType::int64};
  }
  check_dim(a.dim, shape.rank());
  if (shape.rank() > 0) require<IndexError>(shape[a.dim] > 0, "dimension {} is empty: got {}", a.dim, shape);
  return {shape.rank() == 0 ? Shape{} : reduced_shape(shape, Dims{a.dim}, a.keepdim), DType::int64};
}

// y has the reduced shape: give it its axes back and stretch it over x. A view, no copy.
Tensor spread(const TensorHandle& y, const Reduce& a, const Meta& x) {
  Tensor full = y;
  if (!a.keepdim)
    for (int64_t d : a.dim) full = unsqueeze(full, d);
  return expand(full, x.shape);
}

Grads grad_sum(const Reduce& a, const GradContext& c) { return {spread(c.dy(), a, c.meta(0))}; }
Grads grad_mean(const Reduce& a, const GradContext& c) { return {spread(c.dy() / double(count(c.meta(0).shape, a.dim)), a, c.meta(0))}; }
Grads grad_extremum(const Reduce& a, const GradContext& c) {  // equal extrema share the gradient, as in PyTorch
  const Tensor hit = eq(c.input(0), spread(c.output(0), a, c.meta(0)));
  const Tensor share = c.dy() / sum(hit, a.dim, a.keepdim, c.meta(0).dtype);
  return {where(hit, spread(share, a, c.meta(0)), 0.0)};
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
  row.samples = kSums;
  return row;
}
constexpr OpInfo extremum(OpInfo row) {
  row.kind = Kind::reduce;
  row.saves = inputs | outputs;
  row.samples = kExtrema;
  return row;
}

}  // namespace

namespace op {
constinit OpInfo sum = summing(
    define<Reduce, infer, grad_sum>({.schema = "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Sum of the elements of input over dim (over all by default).",
        .example = "pyburn.sum(pyburn.ones(2, 3), dim=1)"}));
constinit OpInfo mean = summing(define<Reduce, infer_mean, grad_mean>(
    {.schema = "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Arithmetic mean of the elements of input over dim.",
        .example = "pyburn.mean(pyburn.tensor([1., 3.]))"}));
constinit OpInfo amax =
    extremum(define<Reduce, infer_extremum, grad_extremum>({.schema = "amax(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
        .doc = "Largest element of input over dim; ties share the gradient.",
        .torch = "lambda x, dim=(), keepdim=False: torch.amax(x, dim, keepdim)",
        .example = "pyburn.amax(pyburn.tensor([1., 3.]))"}));
constinit OpInfo amin =
    extremum(define<Reduce, infer_extremum, grad_extremum>({.schema = "amin(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
        .doc = "Smallest element of input over dim; ties share the gradient.",
        .torch = "lambda x, dim=(), keepdim=False: torch.amin(x, dim, keepdim)",
        .example = "pyburn.amin(pyburn.tensor([1., 3.]))"}));
constinit OpInfo argmax = define<ArgReduce, infer_arg>({.schema = "argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Position of the largest element along dim, or in the flattened tensor.",
    .no_grad = "the result is an index",
    .example = "pyburn.argmax(pyburn.tensor([1., 3., 2.]))",
    .samples = R"(
t(2, 3)
t(2, 3), dim=1
t(2, 3, 4), dim=-2, keepdim=True
t()
t(0, 3), dim=1
t(4, 3).T, dim=0
t(2, 1).expand(2, 5), dim=0
t(5, dtype=i32)
t(0) ! elements
t(2, 3), dim=2 ! dim out of range)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "var(Tensor input, int[]? dim=None, *, Scalar correction=1, bool keepdim=False) -> Tensor",
        .doc = "Variance over dim; correction 1 is the unbiased estimate.",
        .example = "pyburn.var(pyburn.tensor([1., 2., 3.]))",
        .samples = "t(2, 3)\nt(2, 3, 4), dim=(0, 2)\nt(2, 3, 4), dim=-2, keepdim=True, correction=0\nt(3, 4).T, dim=0\n"
                   "t(), correction=0\nt(0, 3), dim=1\nt(2, 1).expand(2, 5), dim=0\nt(2, dtype=i64) ! floating\nt(2, 3), dim=2 ! dim out "
                   "of range"},
};
}

Tensor var(const TensorHandle& input, const OptionalDims& dim, const Scalar& correction, bool keepdim) {
  require<DTypeError>(is_floating(input.dtype()), "[var] expected a floating dtype: got {}", input.dtype());
  const Tensor centred = input - mean(input, dim, true);
  const double n = double(count(input.shape(), normalise_dims(dim, input.rank()))) - correction.to_double();
  return sum(centred * centred, dim, keepdim) / std::max(n, 0.0);
}

void register_reduce(OpTable& table) {
  table.add({&op::sum, &op::mean, &op::amax, &op::amin, &op::argmax});
  table.add(functions);
}

}  // namespace pyburn
