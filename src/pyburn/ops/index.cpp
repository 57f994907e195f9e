// Parts of a tensor named by an index along one axis.
#include "pyburn/ops/index.h"

#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/split.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check_index(const Meta& index) {
  require<DTypeError>(index.dtype == DType::int64 || index.dtype == DType::int32, "expected an int32 or int64 index: got {}", index.dtype);
  require(index.shape.rank() <= 1, "expected a 1-d index: got {}", index.shape);
}
Meta infer_select(const IndexAxis& a, Metas in) {
  check_index(in[1]);
  check_dim(a.dim, in[0].shape.rank());
  Shape shape = in[0].shape;
  if (shape.rank() > 0) shape[a.dim] = in[1].shape.numel();
  else require(in[1].shape.numel() == 1, "expected one index for a 0-d tensor: got {}", in[1].shape);
  return {shape, in[0].dtype};
}
// The parts that go to the places of the index: `source` has its extent along the axis. No axes count as one of extent 1.
Meta infer_placed(int64_t dim, Metas in) {
  check_index(in[1]);
  check_dim(dim, in[0].shape.rank());
  Shape expected = in[0].shape;
  if (expected.rank() > 0) expected[dim] = in[1].shape.numel();
  require((in[2].shape == expected && expected.rank() > 0) ||
              (expected.rank() <= 1 && in[2].shape.rank() <= 1 && in[2].shape.numel() == in[1].shape.numel()),
      "the shape of source does not match: got {} for {}", in[2].shape, expected);
  require<DTypeError>(in[2].dtype == in[0].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, in[2].dtype);
  return in[0];
}
Meta infer_copy(const IndexAxis& a, Metas in) { return infer_placed(a.dim, in); }
Meta infer_add(const IndexAdd& a, Metas in) {
  require<DTypeError>(
      is_floating(in[0].dtype) || !a.alpha.is_floating(), "for integral input, alpha must not be floating: got {}", a.alpha);
  return infer_placed(a.dim, in);
}

// dy at the places of the index, in the shape of the source.
TensorHandle source_gradient(int64_t dim, const GradContext& c) {
  const TensorHandle whole = c.dy().rank() ? TensorHandle(c.dy()) : reshape(c.dy(), Dims{1});
  return reshape(index_select(whole, dim, c.input(1)), c.meta(2).shape);
}
Grads grad_select(const IndexAxis& a, const GradContext& c) {
  const TensorHandle zero = zeros(c.meta(0).shape, c.meta(0).dtype, &c.dy().device(), false);
  return {c.meta(0).shape.rank() == 0 ? reshape(c.dy(), Dims{}) : index_add(zero, a.dim, c.input(1), c.dy())};
}
Grads grad_add(const IndexAdd& a, const GradContext& c) {
  if (!c.needs(2)) return {c.dy()};
  const TensorHandle g = source_gradient(a.dim, c);
  return {c.dy(), TensorHandle(), a.alpha == Scalar(1) ? g : g * Operand(a.alpha)};
}
Grads grad_copy(const IndexAxis& a, const GradContext& c) {
  return {c.needs(0) ? index_fill(c.dy(), a.dim, c.input(1), 0) : TensorHandle(), TensorHandle(),
      c.needs(2) ? source_gradient(a.dim, c) : TensorHandle()};
}

Meta infer_nonzero(const NoAttrs&, Metas in) { return {Shape{-1, in[0].shape.rank()}, DType::int64}; }

}  // namespace

namespace op {
constinit OpInfo nonzero = define<NoAttrs, infer_nonzero>({.schema = "nonzero(Tensor input) -> Tensor",
    .doc = "Returns the indices of the non-zero elements, one row per element.",
    .kind = Kind::dynamic,
    .no_grad = "the result is an index",
    .example = "pyburn.nonzero(pyburn.tensor([0., 3., 0., 4.]))",
    .samples = R"(
t(5, dtype=b8)
t(3, 4, dtype=b8)
t(3, 4, dtype=i64)
t(2, 3)
t()
t(0, 3)
t(4, 3, dtype=b8).T
t(2, 1, dtype=b8).expand(2, 3)
1 ! Tensor)"});
constinit OpInfo index_select =
    define<IndexAxis, infer_select, grad_select>({.schema = "index_select(Tensor input, int dim, Tensor index) -> Tensor",
        .doc = "Selects the entries of input along dim at the given indices, as a copy.",
        .kind = Kind::gather,
        .reads = {{1}},
        .example = "pyburn.index_select(pyburn.arange(5), 0, pyburn.tensor([4, 0]))",
        .samples = R"(
t(4, 3), 0, index(5, below=4)
t(4, 3), -1, index(2, below=3)
t(2, 3, 4), 1, index(4, below=3)
t(3, 4).T, 0, index(2, below=4)
t(2, 1).expand(2, 4), 1, index(3, below=4)
t(), 0, index(1, below=1)
t(4, 0), 0, index(2, below=4)
t(4, 3), 0, index(0, below=4)
t(4, dtype=i64), 0, index(2, below=4)
t(4, 3, dtype=b8), 1, index(2, below=3)
t(4, dtype=f16), 0, index(2, below=4)
t(4, 3), 2, index(2, below=3) ! dim out of range
t(4, 3), 0, t(2) ! index
t(4, 3), 0, tensor([7]) ! out of range)"});
constinit OpInfo index_add = define<IndexAdd, infer_add, grad_add>(
    {.schema = "index_add(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
        .doc = "Adds alpha * source to the entries of input along dim at the given indices; duplicate indices accumulate.",
        .kind = Kind::gather,
        .reads = {{}, {}, {1}},
        .in_place = true,
        .changes_first = true,
        .example = "pyburn.index_add(pyburn.zeros(3), 0, pyburn.tensor([0, 0, 2]), pyburn.ones(3))",
        .samples = R"(
t(4, 3), 0, index(5, below=4), t(5, 3)
t(4, 3), -1, index(2, below=3), t(4, 2), alpha=2.5
t(2, 3, 4), 1, index(4, below=3), t(2, 4, 4)
t(3, 4).T, 0, index(2, below=4), t(2, 3)
t(2, 1).expand(2, 4), 1, index(3, below=4), t(2, 3)
t(4, 0), 0, index(2, below=4), t(2, 0)
t(), 0, index(1, below=1), t()
t(4, dtype=i64), 0, index(2, below=4), t(2, dtype=i64), alpha=-2
t(4, dtype=f16), 0, index(2, below=4), t(2, dtype=f16)
t(4, dtype=bf16), 0, index(2, below=4), t(2, dtype=bf16)
t(4, dtype=u8), 0, index(2, below=4), t(2, dtype=u8)
t(4, 3), 0, index(2, below=4), t(3, 3) ! does not match
t(4, 3), 0, index(2, below=4), t(2, 3, dtype=f64) ! dtypes
t(4, 3), 0, tensor([7]), t(1, 3) ! out of range)"});
constinit OpInfo index_copy =
    define<IndexAxis, infer_copy, grad_copy>({.schema = "index_copy(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
        .doc = "Copies source into the entries of input along dim at the given indices; for duplicate indices the last one wins.",
        .kind = Kind::gather,
        .reads = {{1}, {}, {1}},
        .in_place = true,
        .changes_first = true,
        .example = "pyburn.index_copy(pyburn.zeros(3), 0, pyburn.tensor([0, 2]), pyburn.ones(2))",
        .samples = R"(
t(4, 3), 0, tensor([2, 0]), t(2, 3)
t(4, 3), -1, tensor([1]), t(4, 1)
t(2, 3, 4), 1, tensor([2, 1]), t(2, 2, 4)
t(3, 4).T, 0, tensor([3, 1]), t(2, 3)
t(2, 1).expand(2, 4), 1, tensor([0, 3]), t(2, 2)
t(4, 0), 0, tensor([1, 2]), t(2, 0)
t(), 0, tensor([0]), t()
t(4, dtype=i64), 0, tensor([3, 1]), t(2, dtype=i64)
t(4, dtype=f16), 0, tensor([3, 1]), t(2, dtype=f16)
t(4, 3), 0, tensor([0, 1]), t(3, 3) ! does not match
t(4, 3), 0, tensor([7]), t(1, 3) ! out of range)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "index_fill(Tensor input, int dim, Tensor index, Tensor|Scalar value) -> Tensor",
        .doc = "Fills the entries of input along dim at the given indices with value.",
        .example = "pyburn.index_fill(pyburn.zeros(3), 0, pyburn.tensor([0, 2]), 5.)",
        .samples = "t(4, 3), 0, tensor([2, 0]), 1.5\nt(4, 3), -1, tensor([1]), t()\nt(3, 4).T, 0, tensor([3, 3]), 2\n"
                   "t(2, 1).expand(2, 4), 1, tensor([0, 3]), -1\nt(0, 2), 1, tensor([1]), 3\nt(4, dtype=i64), 0, tensor([3]), 7\n"
                   "t(4, 3), 0, tensor([1]), t(2) ! 0-dimensional\nt(4, 3), 0, tensor([9]), 1 ! out of range",
        .in_place = true},
    {.schema = "argwhere(Tensor input) -> Tensor",
        .doc = "Returns the indices of the non-zero elements, one row per element.",
        .example = "pyburn.argwhere(pyburn.tensor([0., 3., 0., 4.]))",
        .samples = "t(5, dtype=b8)\nt(2, 3)\nt()\nt(0, 3)\nt(4, 3, dtype=b8).T\nt(2, 1, dtype=b8).expand(2, 3)\n1 ! Tensor"},
    {.schema = "where.indices(Tensor condition) -> Tensor[]",
        .doc = "Returns the indices of the non-zero elements as a tuple of one tensor per dimension.",
        .torch = "torch.where",
        .example = "pyburn.where(pyburn.tensor([[True, False], [False, True]]))",
        .samples = "t(5, dtype=b8)\nt(2, 3)\nt()\nt(0, 3)\nt(4, 3, dtype=b8).T\nt(2, 1, dtype=b8).expand(2, 3)\n1 ! form"},
    {.schema = "masked_select(Tensor input, Tensor mask) -> Tensor",
        .doc = "Returns the elements of input where mask is true as a 1-d tensor.",
        .example = "pyburn.masked_select(pyburn.arange(3), pyburn.tensor([True, False, True]))",
        .samples =
            "t(2, 3), t(2, 3, dtype=b8)\nt(2, 3), t(3, dtype=b8)\nt(3), t(2, 1, dtype=b8)\nt(), tensor(True)\nt(0, 3), t(3, dtype=b8)\n"
            "t(3, 2).T, t(2, 3, dtype=b8)\nt(2, 1).expand(2, 3), t(2, 3, dtype=b8)\nt(4, dtype=i64), t(4, dtype=b8)\n"
            "t(3), t(3) ! bool\nt(3), t(2, dtype=b8) ! broadcast",
        .out = true},
    {.schema = "masked_scatter(Tensor input, Tensor mask, Tensor source) -> Tensor",
        .doc = "Copies consecutive elements of source to the positions of input where mask is true.",
        .example = "pyburn.masked_scatter(pyburn.zeros(3), pyburn.tensor([True, False, True]), pyburn.ones(2))",
        .samples =
            "t(2, 3), t(2, 3, dtype=b8), t(6)\nt(2, 3), t(3, dtype=b8), t(2, 4)\nt(), tensor(True), t(2)\nt(0, 3), t(3, dtype=b8), t(1)\n"
            "t(3, 2).T, t(2, 3, dtype=b8), t(4, 2).T\nt(2, 1).expand(2, 3), t(2, 3, dtype=b8), t(7)\n"
            "t(4, dtype=i64), t(4, dtype=b8), t(4, dtype=i64)\nt(3), tensor([True, True, False]), t(1) ! too few\n"
            "t(3), t(3), t(3) ! bool\nt(3), t(3, dtype=b8), t(3, dtype=f64) ! dtype",
        .in_place = true},
};

// The positions of the true elements of mask in row-major order.
TensorHandle places_of(const TensorHandle& mask) {
  const TensorHandle rows = nonzero(reshape(mask, Dims{mask.numel()}));
  return reshape(rows, Dims{rows.shape()[0]});
}
}  // namespace

TensorHandle fn::index_fill(const TensorHandle& input, int64_t dim, const TensorHandle& index, const Operand& value) {
  require(!value.is_tensor() || value.tensor().rank() == 0, "[index_fill] value must be a number or a 0-dimensional tensor: got {}",
      value.is_tensor() ? value.tensor().shape() : Shape());
  const TensorHandle one =
      value.is_tensor() ? value.tensor().dtype() == input.dtype() ? TensorHandle(value.tensor()) : cast(value.tensor(), input.dtype())
                        : full(Dims{}, value.value(), input.dtype(), &input.device(), false);
  if (one.requires_grad() && input.rank()) {  // an element that is named twice counts once in its gradient
    const int axis = normalise_dim(dim, input.rank());
    const TensorHandle none = zeros(Dims{input.shape()[axis]}, DType::boolean, &input.device(), false);
    Dims size(input.rank(), 1);
    size[axis] = input.shape()[axis];
    return where(reshape(index_fill(none, 0, index, true), size), one, input);
  }
  Dims size = input.shape();
  if (input.rank()) size[normalise_dim(dim, input.rank())] = index.numel();
  else size = {index.numel()};
  return index_copy(input, dim, index, expand(one, size));
}
TensorHandle fn::argwhere(const TensorHandle& input) { return nonzero(input); }
Tensors fn::where(const TensorHandle& condition) {
  const TensorHandle x = atleast_1d(condition);
  return unbind(nonzero(x), 1);
}
TensorHandle fn::masked_select(const TensorHandle& input, const TensorHandle& mask) {
  require<DTypeError>(mask.dtype() == DType::boolean, "[masked_select] expected a bool mask: got {}", mask.dtype());
  const Tensors both = broadcast_tensors({input, mask});
  return index_select(reshape(both[0], Dims{both[0].numel()}), 0, places_of(both[1]));
}
TensorHandle fn::masked_scatter(const TensorHandle& input, const TensorHandle& mask, const TensorHandle& source) {
  require<DTypeError>(mask.dtype() == DType::boolean, "[masked_scatter] expected a bool mask: got {}", mask.dtype());
  require<DTypeError>(source.dtype() == input.dtype(), "[masked_scatter] expected input and source of one dtype: got {} and {}",
      input.dtype(), source.dtype());
  const Tensors both = broadcast_tensors({input, mask});
  const TensorHandle places = places_of(both[1]);
  require(places.numel() <= source.numel(), "[masked_scatter] source has too few elements: got {} for {}", source.numel(), places.numel());
  const TensorHandle elements = slice(reshape(source, Dims{source.numel()}), 0, 0, places.numel());
  return reshape(index_copy(reshape(both[0], Dims{both[0].numel()}), 0, places, elements), both[0].shape());
}

void register_index(OpTable& table) {
  table.add({&op::nonzero, &op::index_select, &op::index_add, &op::index_copy});
  table.add(functions);
}

}  // namespace pyburn
