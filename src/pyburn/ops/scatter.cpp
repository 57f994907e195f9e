// Single elements named by an index: gather reads them, scatter writes them.
#include "pyburn/ops/scatter.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/rules.h"

namespace pyburn {

Reduction reduction_from(const std::string& name) {
  constexpr const char* kNames[] = {"sum", "prod", "mean", "amax", "amin"};
  for (int i = 0; i < 5; ++i)
    if (name == kNames[i]) return Reduction(i);
  fail<ValueError>("reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin': got '{}'", name);
}

namespace {

const char* name_of(Reduction r) {
  constexpr const char* kNames[] = {"sum", "prod", "mean", "amax", "amin"};
  return kNames[int(r)];
}

Shape with_axis(const Shape& s) { return s.rank() ? s : Shape{1}; }  // no axes count as one of extent 1

// `index` must fit into `bounds` along all axes, but for `free`.
void check_fits(const Meta& index, const Shape& bounds, int64_t free, const char* what) {
  const Shape i = with_axis(index.shape), b = with_axis(bounds);
  require(i.rank() == b.rank(), "index must have the same number of dimensions as {}: got {} for {}", what, index.shape, bounds);
  for (int k = 0; k < i.rank(); ++k)
    require(k == free || i[k] <= b[k], "index exceeds the size of {} at dimension {}: got {} for {}", what, k, index.shape, bounds);
}
void check_index(const Meta& index) {
  require<DTypeError>(index.dtype == DType::int64 || index.dtype == DType::int32, "expected an int32 or int64 index: got {}", index.dtype);
}
Meta infer_gather(const Gather& a, Metas in) {
  check_index(in[1]);
  check_dim(a.dim, in[0].shape.rank());
  if (in[1].shape.numel()) check_fits(in[1], in[0].shape, a.dim, "input");
  return {in[1].shape, in[0].dtype};
}
Meta infer_brought(int64_t dim, Metas in) {
  check_index(in[1]);
  check_dim(dim, in[0].shape.rank());
  require<DTypeError>(in[2].dtype == in[0].dtype, "expected input and src of one dtype: got {} and {}", in[0].dtype, in[2].dtype);
  if (in[1].shape.numel()) {
    check_fits(in[1], in[0].shape, dim, "input");
    check_fits(in[1], in[2].shape, -1, "src");
  }
  return in[0];
}
Meta infer_scatter(const Gather& a, Metas in) { return infer_brought(a.dim, in); }
Meta infer_reduce(const ScatterReduce& a, Metas in) {
  require<ValueError>(a.reduce <= Reduction::amin, "unknown reduction: got {}", int64_t(a.reduce));
  return infer_brought(a.dim, in);
}

// What belongs to the elements that the index names, with 0 for the rest of src.
TensorHandle spread_over_src(const TensorHandle& gathered, const Shape& src) {
  if (gathered.shape() == src) return gathered;
  if (gathered.rank() != src.rank())
    return gathered.numel() == src.numel() ? reshape(gathered, src) : zeros(src, gathered.dtype(), &gathered.device(), false);
  Dims after;
  for (int i = src.rank() - 1; i >= 0; --i) {
    after.push_back(0);
    after.push_back(src[i] - gathered.shape()[i]);
  }
  return constant_pad_nd(gathered, after, 0);
}
// The part of src that the index names.
TensorHandle used_of_src(const TensorHandle& src, const Shape& index) {
  if (src.rank() != index.rank()) return reshape(src, index);
  TensorHandle y = src;
  for (int i = 0; i < index.rank(); ++i) y = slice(y, i, 0, index[i]);
  return y;
}

Grads grad_gather(const Gather& a, const GradContext& c) {
  return {scatter_add(zeros(c.meta(0).shape, c.meta(0).dtype, &c.dy().device(), false), a.dim, c.input(1), c.dy())};
}
Grads grad_scatter(const Gather& a, const GradContext& c) {
  const TensorHandle index = c.input(1);
  return {c.needs(0) ? scatter(c.dy(), a.dim, index, 0) : TensorHandle(), TensorHandle(),
      c.needs(2) ? spread_over_src(gather(c.dy(), a.dim, index), c.meta(2).shape) : TensorHandle()};
}
Grads grad_scatter_add(const Gather& a, const GradContext& c) {
  return {c.dy(), TensorHandle(), c.needs(2) ? spread_over_src(gather(c.dy(), a.dim, c.input(1)), c.meta(2).shape) : TensorHandle()};
}

// How d result / d element follows from the reduction; `src` has the shape of the index.
struct ReducedGradient {
  const ScatterReduce& a;
  const TensorHandle &dy, x, index, src, y;
  TensorHandle at_input, at_src;

  TensorHandle gathered(const TensorHandle& t) const { return gather(t, a.dim, index); }
  TensorHandle number(const TensorHandle& truth) const { return cast(truth, dy.dtype()); }

  void sum() {
    at_input = dy;
    at_src = gathered(dy);
  }
  void mean() {
    const TensorHandle start = a.include_self ? ones_like(x) : zeros_like(x);
    const TensorHandle count = scatter_add(start, a.dim, index, ones_like(src));
    at_input = dy / maximum(count, 1);
    at_src = gathered(at_input);
  }
  // The extreme elements share the gradient.
  void extremum() {
    const TensorHandle input_hits = number(eq(x, y)), src_hits = number(eq(src, gathered(y)));
    const TensorHandle counted = a.include_self ? input_hits : scatter(input_hits, a.dim, index, 0);
    const TensorHandle share = dy / maximum(scatter_add(counted, a.dim, index, src_hits), 1);
    at_input = input_hits * share;
    at_src = src_hits * gathered(share);
  }
  // Other factors: the product divided by the element; an element that is the only 0 gets the product without it.
  void prod() {
    const TensorHandle x1 = where(eq(x, 0), 1.0, x);
    at_input = dy * scatter_reduce(x1, a.dim, index, src, "prod", a.include_self) / x1;
    const TensorHandle zero = eq(src, 0);
    const TensorHandle count = gathered(scatter_add(zeros_like(x), a.dim, index, number(zero)));
    const TensorHandle alone = ne(number(zero) * number(eq(count, 1)), 0);
    const TensorHandle without = scatter_reduce(x, a.dim, index, where(alone, 1.0, src), "prod", a.include_self);
    at_src = where(alone, gathered(dy * without), gathered(dy * y) / where(zero, 1.0, src));
  }
};
Grads grad_reduce(const ScatterReduce& a, const GradContext& c) {
  const TensorHandle index = c.input(1);
  ReducedGradient g{a, c.dy(), c.input(0), index, used_of_src(c.input(2), index.shape()), c.output(), {}, {}};
  if (a.reduce == Reduction::sum) g.sum();
  else if (a.reduce == Reduction::mean) g.mean();
  else if (a.reduce == Reduction::prod) g.prod();
  else g.extremum();
  if (!a.include_self) g.at_input = scatter(g.at_input, a.dim, index, 0);
  return {g.at_input, TensorHandle(), spread_over_src(g.at_src, c.meta(2).shape)};
}

constexpr const char* kScatterAdd = R"(
t(3, 4), 0, index(2, 4, below=3), t(2, 4)
t(3, 4), 1, index(2, 5, below=4), t(3, 6).constant
t(3, 2, 4), 1, index(2, 3, 3, below=2), t(2, 3, 4).constant
t(2, 3, 2), -1, index(2, 2, 4, below=2), t(2, 2, 4)
t(5), 0, index(7, below=5), t(7)
t(4, 3).T, 0, index(2, 4, below=3), t(4, 2).T
t(3, 1).expand(3, 4), 0, index(2, 4, below=3), t(2, 1).expand(2, 4)
t(), 0, index(below=1), t()
t(3, 4), 0, index(0, 4, below=3), t(0, 4)
t(5, dtype=i64), 0, index(7, below=5), t(7, dtype=i64)
t(5, dtype=f16), 0, index(3, below=5), t(3, dtype=f16)
t(5, dtype=bf16), 0, index(3, below=5), t(3, dtype=bf16)
t(5, dtype=u8), 0, index(3, below=5), t(3, dtype=u8)
t(3, 4), 0, tensor([[3, 0]]), t(1, 2) ! out of bounds
t(3, 4), 0, index(2, below=3), t(2) ! same number of dimensions
t(3, 4), 0, index(2, 5, below=3), t(2, 5) ! exceeds
t(3, 4), 0, index(2, 4, below=3), t(1, 4) ! exceeds
t(3, 4), 0, t(2, 4), t(2, 4) ! index
t(3, 4), 0, index(2, 4, below=3), t(2, 4, dtype=f64) ! dtype
t(3, 4), 2, index(2, 4, below=3), t(2, 4) ! dim out of range)";

}  // namespace

namespace op {
constinit OpInfo gather =
    define<Gather, infer_gather, grad_gather>({.schema = "gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
        .doc = "Gathers elements along dim: for dim=0 and 3 dimensions, out[i][j][k] = input[index[i][j][k]][j][k].",
        .kind = Kind::gather,
        .reads = {{1}},
        .example = "pyburn.gather(pyburn.tensor([[1, 2], [3, 4]]), 1, pyburn.tensor([[0, 0], [1, 0]]))",
        .samples = R"(
t(3, 4), 0, index(2, 4, below=3)
t(3, 4).constant, 1, index(3, 5, below=4), sparse_grad=True
t(3, 4), -1, index(2, 2, below=4)
t(3, 2, 4), 1, index(2, 3, 3, below=2)
t(5), 0, index(7, below=5)
t(4, 3).T, 0, index(2, 4, below=3)
t(3, 1).expand(3, 4), 0, index(2, 4, below=3)
t(3, 4), 1, index(4, 3, below=4).T
t(), 0, index(below=1)
t(0, 3), 1, index(0, 2, below=3)
t(5, dtype=i64), 0, index(3, below=5)
t(5, dtype=f16), 0, index(3, below=5)
t(5, dtype=b8), 0, index(3, below=5)
t(3, 4), 0, tensor([[3, 0]]) ! out of bounds
t(3, 4), 0, index(2, below=3) ! same number of dimensions
t(3, 4), 0, index(2, 5, below=3) ! exceeds
t(3, 4), 0, t(2, 4) ! index
t(3, 4), 2, index(2, 4, below=3) ! dim out of range)"});
constinit OpInfo scatter_src =
    define<Gather, infer_scatter, grad_scatter>({.schema = "scatter.src(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
        .doc = "Writes src into a copy of input along dim: for dim=0 and 3 dimensions, out[index[i][j][k]][j][k] = src[i][j][k]. For "
               "duplicate indices the last one wins.",
        .kind = Kind::gather,
        .reads = {{1}, {}, {1}},
        .in_place = true,
        .changes_first = true,
        .torch = "torch.scatter",
        .example = "pyburn.scatter(pyburn.zeros(2, 3), 1, pyburn.tensor([[2], [0]]), pyburn.ones(2, 1))",
        .samples = R"(
t(3, 4), 0, tensor([[0, 2, 1, 0]]), t(1, 4)
t(3, 4), 1, tensor([[3, 0], [1, 2]]), t(3, 4).constant
t(2, 3, 2), -1, tensor([[[1], [0]]]), t(1, 2, 1)
t(5), 0, tensor([4, 1]), t(2)
t(4, 3).T, 0, tensor([[0, 2, 1, 0]]), t(4, 1).T
t(3, 1).expand(3, 4), 0, tensor([[0, 2, 1, 0]]), t(1, 1).expand(1, 4)
t(), 0, tensor(0), t()
t(3, 4), 0, index(0, 4, below=3), t(0, 4)
t(5, dtype=i64), 0, tensor([4, 1]), t(2, dtype=i64)
t(5, dtype=bf16), 0, tensor([4, 1]), t(2, dtype=bf16)
t(3, 4), 0, tensor([[3, 0]]), t(1, 2) ! out of bounds
t(3, 4), 0, index(2, 4, below=3), t(2, 4, dtype=f64) ! dtype)"});
constinit OpInfo scatter_add =
    define<Gather, infer_scatter, grad_scatter_add>({.schema = "scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
        .doc = "Adds src to a copy of input along dim at the given indices; duplicate indices accumulate.",
        .kind = Kind::gather,
        .reads = {{}, {}, {1}},
        .in_place = true,
        .changes_first = true,
        .example = "pyburn.scatter_add(pyburn.zeros(3), 0, pyburn.tensor([0, 0, 2]), pyburn.ones(3))",
        .samples = kScatterAdd});
constinit OpInfo scatter_reduce = define<ScatterReduce, infer_reduce, grad_reduce>(
    {.schema = "scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
        .doc =
            "Reduces the elements of src into a copy of input along dim at the given indices with 'sum', 'prod', 'mean', 'amax' or 'amin'.",
        .kind = Kind::gather,
        .saves = inputs | outputs,
        .in_place = true,
        .changes_first = true,
        .example = "pyburn.scatter_reduce(pyburn.zeros(3), 0, pyburn.tensor([0, 0, 2]), pyburn.ones(3), 'sum')",
        .samples = R"(
t(3, 4), 0, index(2, 4, below=3), t(2, 4), 'sum'
t(5), 0, index(7, below=5), t(7), 'prod'
t(5), 0, index(7, below=5), t(7), 'mean'
t(5), 0, index(7, below=5), t(7), 'amax'
t(5), 0, index(7, below=5), t(7), 'amin'
t(5), 0, index(7, below=5), t(7), 'sum', include_self=False
t(5), 0, index(7, below=5), t(7), 'prod', include_self=False
t(5), 0, index(7, below=5), t(7), 'mean', include_self=False
t(5), 0, index(7, below=5), t(7), 'amax', include_self=False
t(5), 0, index(7, below=5), t(7), 'amin', include_self=False
t(3, 2, 4), 1, index(3, 2, 4, below=2), t(3, 2, 4), 'mean'
t(4, 3).T, 0, index(2, 4, below=3), t(2, 4), 'amax'
t(3, 1).expand(3, 4), 0, index(2, 4, below=3), t(2, 1).expand(2, 4), 'prod'
tensor([2., 0., 3.]), 0, tensor([0, 0, 1, 2, 2]), tensor([0., 2., 3., 0., 0.]), 'prod'
t(), 0, index(below=1), t(), 'sum'
t(3, 4), 0, index(0, 4, below=3), t(0, 4), 'mean'
t(5, dtype=i64), 0, index(7, below=5), t(7, dtype=i64), 'prod'
t(5, dtype=i64), 0, index(7, below=5), t(7, dtype=i64), 'amin', include_self=False
t(5, dtype=f16), 0, index(3, below=5), t(3, dtype=f16), 'mean'
t(5), 0, index(2, below=5), t(2), 'median' ! reduce
t(3), 0, tensor([3]), t(1), 'sum' ! out of bounds)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "scatter.value(Tensor input, int dim, Tensor index, Scalar value) -> Tensor",
        .doc = "Writes value into a copy of input along dim at the given indices.",
        .torch = "torch.scatter",
        .example = "pyburn.scatter(pyburn.zeros(2, 3), 1, pyburn.tensor([[2], [0]]), 1.)",
        .samples = "t(3, 4), 0, index(2, 4, below=3), 1.5\nt(3, 4), -1, index(3, 2, below=4), 2\nt(), 0, index(below=1), 1\n"
                   "t(0, 4), 1, index(0, 4, below=3), 1\nt(4, 3).T, 0, index(2, 4, below=3), 1\nt(3, 1).expand(3, 4), 0, index(2, 4, "
                   "below=3), 1\nt(5, dtype=i64), 0, index(2, below=5), 7\nt(3), 0, tensor([3]), 1 ! out of bounds",
        .in_place = true},
    {.schema = "scatter.src_reduce(Tensor input, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
        .doc = "Adds ('add') or multiplies ('multiply') src into a copy of input along dim at the given indices.",
        .torch = "torch.scatter",
        .example = "pyburn.scatter(pyburn.ones(3), 0, pyburn.tensor([0, 0]), pyburn.ones(2), reduce='add')",
        .samples = "t(3, 4).constant, 0, index(2, 4, below=3), t(2, 4).constant, reduce='add'\n"
                   "t(5).constant, 0, index(7, below=5), t(7).constant, reduce='multiply'\n"
                   "t().constant, 0, index(below=1), t().constant, reduce='add'\n"
                   "t(0, 4).constant, 1, index(0, 4, below=3), t(0, 4).constant, reduce='add'\n"
                   "t(4, 3).constant.T, -2, index(2, 4, below=3), t(2, 1).constant.expand(2, 4), reduce='multiply'\n"
                   "t(3), 0, index(2, below=3), t(2), reduce='max' ! reduce",
        .in_place = true},
    {.schema = "scatter.value_reduce(Tensor input, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
        .doc = "Adds ('add') or multiplies ('multiply') value into a copy of input along dim at the given indices.",
        .torch = "torch.scatter",
        .example = "pyburn.scatter(pyburn.ones(3), 0, pyburn.tensor([0, 0]), 2., reduce='multiply')",
        .samples =
            "t(3, 4).constant, 0, index(2, 4, below=3), 1.5, reduce='add'\nt(5).constant, 0, index(7, below=5), 2, reduce='multiply'\n"
            "t().constant, 0, index(below=1), 1, reduce='add'\nt(0, 4).constant, 1, index(0, 4, below=3), 1, reduce='add'\n"
            "t(4, 3).constant.T, -2, index(2, 4, below=3), 3, reduce='multiply'\n"
            "t(3, 1).constant.expand(3, 4), 0, index(2, 4, below=3), 1, reduce='add'\nt(3), 0, index(2, below=3), 1, reduce='max' ! reduce",
        .in_place = true},
    {.schema = "take_along_dim(Tensor input, Tensor indices, int? dim=None) -> Tensor",
        .doc = "Gathers elements along dim, with input and indices broadcast to each other. Without dim both are flattened.",
        .example = "pyburn.take_along_dim(pyburn.tensor([[3, 1]]), pyburn.tensor([[1], [0]]), 1)",
        .samples = "t(3, 4), index(1, 4, below=3), 0\nt(3, 4), tensor([[-1, 0], [2, -4], [3, -2]]), 1\nt(3, 4), index(3, 2, below=4), "
                   "dim=-1\nt(3, 4), index(5, below=12)\nt(), index(2, below=1)\n"
                   "t(0, 4), index(0, 2, below=4), 1\nt(4, 3).T, index(1, 4, below=3), 0\nt(3, 1).expand(3, 4), index(3, 2, below=4), 1\n"
                   "t(3, 4), index(2, below=3), 0 ! dimensions\nt(3), t(2), 0 ! index",
        .out = true},
};

TensorHandle value_for(const TensorHandle& input, const TensorHandle& index, const Scalar& value) {
  return expand(full(Dims{}, value, input.dtype(), &input.device(), false), index.shape());
}
}  // namespace

TensorHandle fn::scatter(const TensorHandle& input, int64_t dim, const TensorHandle& index, const Scalar& value) {
  return scatter(input, dim, index, value_for(input, index, value));
}
TensorHandle fn::scatter(
    const TensorHandle& input, int64_t dim, const TensorHandle& index, const TensorHandle& src, const std::string& reduce) {
  require<ValueError>(reduce == "add" || reduce == "multiply", "[scatter] reduce must be 'add' or 'multiply': got '{}'", reduce);
  return scatter_reduce(input, dim, index, src, name_of(reduce == "add" ? Reduction::sum : Reduction::prod));
}
TensorHandle fn::scatter(
    const TensorHandle& input, int64_t dim, const TensorHandle& index, const Scalar& value, const std::string& reduce) {
  return scatter(input, dim, index, value_for(input, index, value), reduce);
}
TensorHandle fn::take_along_dim(const TensorHandle& input, const TensorHandle& indices, std::optional<int64_t> dim) {
  if (!dim) return gather(reshape(input, Dims{input.numel()}), 0, reshape(indices, Dims{indices.numel()}));
  require(input.rank() == indices.rank(), "[take_along_dim] input and indices must have the same number of dimensions: got {} and {}",
      input.shape(), indices.shape());
  const int axis = normalise_dim(*dim, input.rank());
  Shape a = input.shape(), b = indices.shape();
  a[axis] = b[axis] = 1;
  Shape common = broadcast_shapes(a, b), for_input = common, for_indices = common;
  for_input[axis] = input.shape()[axis];
  for_indices[axis] = indices.shape()[axis];
  const TensorHandle counted = where(lt(indices, 0), indices + input.shape()[axis], indices);  // from the end where negative
  return gather(expand(input, for_input), axis, expand(counted, for_indices));
}

void register_scatter(OpTable& table) {
  table.add({&op::gather, &op::scatter_src, &op::scatter_add, &op::scatter_reduce});
  table.add(functions);
}

}  // namespace pyburn
