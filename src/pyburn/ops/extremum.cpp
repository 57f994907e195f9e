// Extrema along one axis, with their positions.
#include "pyburn/ops/extremum.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/rules.h"

namespace pyburn {

TensorHandle grad_of_picked(const TensorHandle& dy, const TensorHandle& index, int64_t dim, bool keepdim, const Meta& x) {
  if (x.shape.rank() == 0) return reshape(dy, Dims{});
  const TensorHandle zero = zeros(x.shape, x.dtype, &dy.device());
  return scatter_add(zero, dim, keepdim ? TensorHandle(index) : unsqueeze(index, dim), keepdim ? TensorHandle(dy) : unsqueeze(dy, dim));
}

namespace {

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
MetaList infer_both(const ArgReduce& a, Metas in) {
  require<IndexError>(a.dim >= 0, "dim out of range: got {}", a.dim);
  const Meta index = infer_arg(a, in);
  return {{index.shape, in[0].dtype}, index};
}
Grads grad_both(const ArgReduce& a, const GradContext& c) { return {grad_of_picked(c.dy(), c.output(1), a.dim, a.keepdim, c.meta(0))}; }

constexpr const char* kArg = R"(
t(2, 3)
t(2, 3), dim=1
t(2, 3, 4), dim=-2, keepdim=True
t()
t(0, 3), dim=1
t(4, 3).T, dim=0
t(2, 1).expand(2, 5), dim=0
t(5, dtype=i32)
t(300, 3), dim=1
tensor([1., nan, 3., nan])
t(0) ! elements
t(2, 3), dim=2 ! dim out of range)";
constexpr const char* kAlong = R"(
t(2, 3), 1
t(2, 3, 4), -2, keepdim=True
t(2, 3, 4), dim=0
t(), 0
t(0, 3), 1
t(4, 3).T, 0
t(2, 5, 1).expand(2, 5, 2), 1
t(5, dtype=i32), 0
t(2, 3, dtype=b8), 1
t(2, 5, dtype=f16), 1
tensor([[1., nan, 3., nan], [1., 2., 2., 0.]]), 1
t(0, 3), 0 ! empty
t(2, 3), 2 ! dim out of range)";

constexpr OpInfo position(OpSpec spec) {
  spec.no_grad = "the result is an index";
  spec.samples = kArg;
  return define<ArgReduce, infer_arg>(spec);
}
constexpr OpInfo with_position(OpSpec spec) {
  spec.saves = later_outputs;
  spec.samples = kAlong;
  return define<ArgReduce, infer_both, grad_both>(spec);
}

}  // namespace

namespace op {
constinit OpInfo argmax = position({.schema = "argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Returns the index of the maximum along dim, or in the flattened tensor.",
    .example = "pyburn.argmax(pyburn.tensor([1., 3., 2.]))"});
constinit OpInfo argmin = position({.schema = "argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Returns the index of the minimum along dim, or in the flattened tensor.",
    .example = "pyburn.argmin(pyburn.tensor([1., 3., 2.]))"});
constinit OpInfo max_dim = with_position({.schema = "max.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "Returns the maximum along dim and its index.",
    .example = "pyburn.max(pyburn.tensor([[1., 3., 2.]]), dim=1)"});
constinit OpInfo min_dim = with_position({.schema = "min.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "Returns the minimum along dim and its index.",
    .example = "pyburn.min(pyburn.tensor([[1., 3., 2.]]), dim=1)"});
}  // namespace op

namespace {
constexpr const char* kOfAll = R"(
t(2, 3)
t()
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=i32)
tensor([1., 2., 2.])
t(0) ! empty)";
constexpr const char* kOfTwo = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3)
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(2, 1).expand(2, 5), t(5)
t(4, dtype=i64), t(4)
t(2, 3), t(4, 5) ! shapes do not broadcast)";

constinit FunctionInfo functions[] = {
    {.schema = "max(Tensor input) -> Tensor",
        .doc = "Returns the maximum of all elements. Equal elements share the gradient.",
        .example = "pyburn.max(pyburn.tensor([1., 3., 2.]))",
        .samples = kOfAll,
        .out = true},
    {.schema = "max.other(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes the element-wise maximum; alias of maximum.",
        .example = "pyburn.max(pyburn.tensor([1., 3.]), pyburn.tensor([2., 2.]))",
        .samples = kOfTwo,
        .out = true},
    {.schema = "min(Tensor input) -> Tensor",
        .doc = "Returns the minimum of all elements. Equal elements share the gradient.",
        .example = "pyburn.min(pyburn.tensor([1., 3., 2.]))",
        .samples = kOfAll,
        .out = true},
    {.schema = "min.other(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes the element-wise minimum; alias of minimum.",
        .example = "pyburn.min(pyburn.tensor([1., 3.]), pyburn.tensor([2., 2.]))",
        .samples = kOfTwo,
        .out = true},
};
}  // namespace

TensorHandle fn::max(const TensorHandle& input) { return amax(input); }
TensorHandle fn::max(const TensorHandle& input, const TensorHandle& other) { return maximum(input, other); }
TensorHandle fn::min(const TensorHandle& input) { return amin(input); }
TensorHandle fn::min(const TensorHandle& input, const TensorHandle& other) { return minimum(input, other); }

void register_extremum(OpTable& table) {
  table.add({&op::argmax, &op::argmin, &op::max_dim, &op::min_dim});
  table.add(functions);
}

}  // namespace pyburn
