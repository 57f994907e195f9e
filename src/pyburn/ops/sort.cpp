// Order along one axis: sorting, the largest few, the k-th element, medians and modes.
#include "pyburn/ops/sort.h"

#include <cmath>

#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

int64_t extent(const Shape& shape, int64_t dim) {
  check_dim(dim, shape.rank());
  return shape.rank() ? shape[dim] : 1;
}
MetaList values_and_indices(const Shape& shape, DType dtype) { return {{shape, dtype}, {shape, DType::int64}}; }

MetaList infer_sort(const Sort& a, Metas in) {
  extent(in[0].shape, a.dim);
  return values_and_indices(in[0].shape, in[0].dtype);
}
MetaList infer_topk(const TopK& a, Metas in) {
  const int64_t n = extent(in[0].shape, a.dim);
  require<IndexError>(a.k >= 0 && a.k <= n, "k out of range: got {} of {} elements", a.k, n);
  Shape shape = in[0].shape;
  if (shape.rank() > 0) shape[a.dim] = a.k;
  return values_and_indices(shape, in[0].dtype);
}
MetaList infer_along(int64_t dim, bool keepdim, const Meta& x) {
  const int64_t n = extent(x.shape, dim);
  require<IndexError>(n > 0, "dimension {} is empty: got {}", dim, x.shape);
  return values_and_indices(x.shape.rank() ? reduced_shape(x.shape, Dims{dim}, keepdim) : Shape{}, x.dtype);
}
MetaList infer_kth(const KthValue& a, Metas in) {
  const int64_t n = extent(in[0].shape, a.dim);
  require<IndexError>(a.k >= 1 && a.k <= n, "k out of range: got {} of {} elements", a.k, n);
  return infer_along(a.dim, a.keepdim, in[0]);
}
MetaList infer_one(const ArgReduce& a, Metas in) { return infer_along(a.dim, a.keepdim, in[0]); }

template <class A>
Grads grad_same_rank(const A& a, const GradContext& c) {
  return {grad_of_picked(c.dy(), c.output(1), a.dim, true, c.meta(0))};
}
template <class A>
Grads grad_picked(const A& a, const GradContext& c) {
  return {grad_of_picked(c.dy(), c.output(1), a.dim, a.keepdim, c.meta(0))};
}

constexpr const char* kMedians = R"(
t(2, 3), 1
t(2, 3, 4), -2, keepdim=True
t(2, 3, 4), dim=0
t(), 0
t(0, 3), 1
t(4, 3).T, 0
t(2, 5, 1).expand(2, 5, 2), 1
t(5, dtype=i32), 0
t(2, 5, dtype=f16), 1
tensor([[1., nan, 3.], [1., 2., 4.], [nan, nan, nan]]), 1
t(0, 3), 0 ! empty
t(2, 3), 2 ! dim out of range)";

constexpr OpInfo picking(OpSpec spec) {
  spec.saves = later_outputs;
  return define<ArgReduce, infer_one, grad_picked<ArgReduce>>(spec);
}

}  // namespace

namespace op {
constinit OpInfo sort = define<Sort, infer_sort, grad_same_rank<Sort>>(
    {.schema = "sort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor indices)",
        .doc = "Sorts the elements along dim (stable); returns the sorted values and their indices.",
        .saves = later_outputs,
        .torch = "lambda x, dim=-1, descending=False, stable=False: torch.sort(x, dim=dim, descending=descending, stable=True)",
        .example = "pyburn.sort(pyburn.tensor([2., 3., 1.]))",
        .samples = R"(
t(2, 3)
t(2, 3, 4), 1, True
t(4, 3), dim=0, descending=True
t(5), stable=True
t()
t(0, 3), 0
t(4, 3).T, 0
t(2, 5, 1).expand(2, 5, 2), 1
tensor([3., 1., 3., 1., -0., 0., -inf]), descending=True
tensor([3., nan, -1., nan, inf])
tensor([3., nan, -1., nan, inf], dtype=f64), descending=True
t(2, 30, dtype=i64)
t(30, dtype=i8)
t(30, dtype=u8), descending=True
t(6, dtype=b8)
t(2, 5, dtype=f16)
t(2, 2000)
t(2000, dtype=f64)
t(2000, dtype=i64), descending=True
t(2, 3), 2 ! dim out of range)"});
constinit OpInfo topk = define<TopK, infer_topk, grad_same_rank<TopK>>(
    {.schema = "topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
        .doc = "Returns the k largest (or smallest) elements along dim and their indices.",
        .saves = later_outputs,
        .torch = "lambda x, k, dim=-1, largest=True, sorted=True: torch.topk(x, k, dim, largest, True)",
        .example = "pyburn.topk(pyburn.tensor([2., 3., 1.]), 2)",
        .samples = R"(
t(2, 5), 2
t(2, 3, 4), 2, 1
t(4, 3), 3, dim=0, largest=False
t(5), 2, sorted=False
t(5), 0
t(), 1
t(0, 3), 2, 1
t(4, 3).T, 2, 0
t(2, 5, 1).expand(2, 5, 2), 3, 1
tensor([3., nan, -1., inf]), 2
t(2, 5, dtype=f16), 2
t(4, 12), 2
t(3), 4 ! k out of range
t(2, 3), 1, 2 ! dim out of range)"});
constinit OpInfo kthvalue = define<KthValue, infer_kth, grad_picked<KthValue>>(
    {.schema = "kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
        .doc = "Returns the k-th smallest element along dim (k counts from 1) and its index.",
        .saves = later_outputs,
        .example = "pyburn.kthvalue(pyburn.tensor([2., 3., 1.]), 2)",
        .samples = R"(
t(2, 3), 2
t(2, 3, 4), 1, -2, keepdim=True
t(2, 3, 4), 2, dim=0
t(), 1
t(0, 3), 2, 1
t(4, 3).T, 3, 0
t(2, 5, 1).expand(2, 5, 2), 4, 1
t(5, dtype=f64), 3
t(2, 5, dtype=f16), 3
tensor([3., nan, -1.]), 3
t(3), 4 ! k out of range
t(2, 3), 1, 2 ! dim out of range)"});
constinit OpInfo median_dim = picking({.schema = "median.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "Returns the median along dim (the lower one of two) and its index. NaN propagates.",
    .example = "pyburn.median(pyburn.tensor([2., 3., 1.]), 0)",
    .samples = kMedians});
constinit OpInfo nanmedian_dim =
    picking({.schema = "nanmedian.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        .doc = "Returns the median along dim, ignoring NaN, and its index.",
        .example = "pyburn.nanmedian(pyburn.tensor([2., float('nan'), 1.]), 0)",
        .samples = R"(
t(2, 3), 1
t(2, 3, 4), -2, keepdim=True
t(2, 3, 4), dim=0
t(), 0
t(0, 3), 1
t(4, 3).T, 0
t(2, 5, 1).expand(2, 5, 2), 1
t(5, dtype=i32), 0
tensor([[1., nan, 3.], [1., 2., 4.], [5., nan, nan]]), 1
t(0, 3), 0 ! empty)"});
constinit OpInfo mode = picking({.schema = "mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "Returns the most frequent element along dim (the smallest of several) and its last index.",
    .example = "pyburn.mode(pyburn.tensor([2., 1., 2.]))",
    .samples = R"(
tensor([[3., 1., 3., 1., 2.], [5., 4., 4., 5., 5.]])
tensor([[3., 1., 3., 1., 2.], [5., 4., 4., 5., 5.]]), 0, keepdim=True
t(2, 5)
t()
t(0, 3), 1
t(4, 3).T, 0
t(2, 5, 1).expand(2, 5, 2), 1
t(20, dtype=i64)
t(0, 3), 0 ! empty
t(2, 3), 2 ! dim out of range)"});
}  // namespace op

namespace {
constexpr const char* kOfAll = R"(
t(2, 3)
t()
t(0)
t(4, 3).T
t(5, 1).expand(5, 1)
t(6, dtype=i32)
tensor([1., nan, 3.])
None ! Tensor)";

constinit FunctionInfo functions[] = {
    {.schema = "median(Tensor input) -> Tensor",
        .doc = "Returns the median of all elements (the lower one of two). NaN propagates.",
        .example = "pyburn.median(pyburn.tensor([2., 3., 1.]))",
        .samples = kOfAll},
    {.schema = "nanmedian(Tensor input) -> Tensor",
        .doc = "Returns the median of all elements, ignoring NaN.",
        .example = "pyburn.nanmedian(pyburn.tensor([2., float('nan'), 1.]))",
        .samples = kOfAll},
    {.schema = "argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> Tensor",
        .doc = "Returns the indices that sort input along dim (stable).",
        .torch = "lambda x, dim=-1, descending=False, stable=False: torch.argsort(x, dim=dim, descending=descending, stable=True)",
        .example = "pyburn.argsort(pyburn.tensor([2., 3., 1.]))",
        .samples = R"(
t(2, 3)
t(2, 3, 4), 1, True
t(5), stable=True
t()
t(0, 3), 0
t(4, 3).T, 0
t(2, 5, 1).expand(2, 5, 2), 1
t(2, 3), 2 ! dim out of range)"},
    {.schema = "msort(Tensor input) -> Tensor",
        .doc = "Sorts the elements along the first dimension.",
        .example = "pyburn.msort(pyburn.tensor([2., 3., 1.]))",
        .samples = "t(3, 2)\nt(4)\nt()\nt(0, 3)\nt(3, 4).T\nt(4, 1).expand(4, 2)\n1 ! Tensor",
        .out = true},
};
}  // namespace

TensorHandle fn::median(const TensorHandle& input) {
  if (input.numel() == 0) return full(Dims{}, is_floating(input.dtype()) ? Scalar(NAN) : Scalar(0), input.dtype(), &input.device());
  return median(reshape(input, Dims{-1}), 0)[0];
}
TensorHandle fn::nanmedian(const TensorHandle& input) {
  return input.numel() == 0 ? median(input) : nanmedian(reshape(input, Dims{-1}), 0)[0];
}
TensorHandle fn::argsort(const TensorHandle& input, int64_t dim, bool descending, bool stable) {
  return sort(input, dim, descending, stable)[1];
}
TensorHandle fn::msort(const TensorHandle& input) { return sort(input, 0)[0]; }

void register_sort(OpTable& table) {
  table.add({&op::sort, &op::topk, &op::kthvalue, &op::median_dim, &op::nanmedian_dim, &op::mode});
  table.add(functions);
}

}  // namespace pyburn
