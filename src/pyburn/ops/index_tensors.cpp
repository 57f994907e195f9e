// Indexing by tensors of integers: x[rows, :, columns], and what is written there.
#include "pyburn/ops/index_tensors.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/index_tensors.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/fault.h"

namespace pyburn {
namespace {

// The shape of what the indices name: their common shape in place of the axes from `axis` on.
Shape named_shape(const IndexTensors& a, const Shape& x, Metas indices) {
  const int64_t count = int64_t(indices.size());
  require<IndexError>(count > 0, "expected at least one index");
  require<IndexError>(a.axis >= 0, "the first indexed dimension must not be negative: got {}", a.axis);
  const bool fits = planted_fault == Fault::unchecked_positions ? int64_t(uint64_t(a.axis) + uint64_t(count)) <= x.rank()
                                                                : a.axis <= x.rank() && count <= x.rank() - a.axis;
  require<IndexError>(fits, "too many indices for tensor of dimension {}: got {} from dimension {} on", x.rank(), count, a.axis);
  Shape common;
  for (const Meta& i : indices) {
    require<DTypeError>(
        is_integral(i.dtype) && i.dtype != DType::boolean, "tensors used as indices must be of an integer dtype or bool: got {}", i.dtype);
    try {
      common = broadcast_shapes(common, i.shape);
    } catch (ShapeError&) {  // PyTorch counts it as a wrong index
      fail<IndexError>("shape mismatch: indexing tensors could not be broadcast together: got {} and {}", common, i.shape);
    }
  }
  Shape shape;
  shape.append(x.begin(), x.begin() + a.axis);
  shape.append(common.begin(), common.end());
  shape.append(x.begin() + a.axis + count, x.end());
  return shape;
}
Meta infer_index(const IndexTensors& a, Metas in) {
  const Shape shape = named_shape(a, in[0].shape, in.subspan(1));
  checked_numel(shape);
  return {shape, in[0].dtype};
}
Meta infer_put(const IndexTensors& a, Metas in) {
  const Shape shape = named_shape(a, in[0].shape, in.subspan(2));
  const Meta& values = in[1];
  require(values.shape == shape, "the shape of values does not match: got {} for {}", values.shape, shape);
  require<DTypeError>(values.dtype == in[0].dtype, "expected values of the dtype of the input: got {} for {}", values.dtype, in[0].dtype);
  return in[0];
}

Tensors indices_of(const GradContext& c, int first) {
  Tensors indices;
  for (int i = first; i < c.inputs(); ++i) indices.push_back(c.input(i));
  return indices;
}
Grads grad_index(const IndexTensors& a, const GradContext& c) {
  const TensorHandle zero = zeros(c.meta(0).shape, c.meta(0).dtype, &c.dy().device(), false);
  return {_index_put(zero, c.dy(), indices_of(c, 1), a.axis, true)};
}
Grads grad_put(const IndexTensors& a, const GradContext& c) {
  const Tensors indices = indices_of(c, 2);
  TensorHandle dx = c.dy();
  if (!a.accumulate && c.needs(0)) {
    const TensorHandle zero = expand(zeros(Dims{}, dx.dtype(), &dx.device(), false), c.meta(1).shape);
    dx = _index_put(dx, zero, indices, a.axis, false);
  }
  return {dx, c.needs(1) ? _index(c.dy(), indices, a.axis) : TensorHandle()};
}

}  // namespace

namespace op {
constinit OpInfo _index =
    define<IndexTensors, infer_index, grad_index>({.schema = "_index(Tensor input, Tensor[] indices, int axis=0) -> Tensor",
        .doc = "Computes x[..., *indices] with the first index at the given dimension.",
        .kind = Kind::gather,
        .reads = {{1, 2, 3, 4, 5, ReadSet::kRest}},
        .torch = "lambda x, indices, axis=0: x[(slice(None),) * axis + tuple(indices)]",
        .example = "pyburn.arange(5)[pyburn.tensor([4, -1])]",
        .samples = R"(
t(4, 3), [index(5, below=4)]
t(4, 3), [index(2, 2, below=3)], 1
t(4, 3), [tensor([-1, 0, -4]), tensor([[0], [2]])]
t(2, 3, 4), [index(2, below=3), index(2, below=4)], axis=1
t(2, 3, 4), [index(3, below=3)], 1
t(3, 4).T, [index(2, below=4)]
t(2, 1).expand(2, 4), [index(3, below=4)], 1
t(4, 3), [tensor(2)]
t(4, 0), [index(2, below=4)]
t(4, 3), [index(0, below=4)]
t(4, dtype=i64), [index(2, below=4)]
t(4, 3, dtype=b8), [index(2, below=3)], 1
t(4, dtype=f16), [tensor([0, 3], dtype=i32)]
t(4, 3), [tensor([4])] ! out of bounds for dimension 0 with size 4
t(4, 3), [tensor([0]), tensor([-4])] ! out of bounds
t(4, 3), [t(2)] ! integer
t(4), [tensor([0]), tensor([0])] ! too many indices
t(), [tensor([0])] ! too many indices
t(4, 3), [tensor([0, 1]), tensor([0, 1, 2])] ! broadcast)"});
constinit OpInfo _index_put = define<IndexTensors, infer_put, grad_put>(
    {.schema = "_index_put(Tensor input, Tensor values, Tensor[] indices, int axis=0, bool accumulate=False) -> Tensor",
        .doc = "Writes or accumulates values at the given indices, starting at the given dimension.",
        .kind = Kind::gather,
        .reads = {{2, 3, 4, 5, ReadSet::kRest}, {2, 3, 4, 5, ReadSet::kRest}},
        .in_place = true,
        .changes_first = true,
        .torch = "lambda x, values, indices, axis=0, accumulate=False: torch.ops.aten.index_put(x, [None] * axis + list(indices), values, "
                 "accumulate)",
        .example = "pyburn.zeros(3).index_put((pyburn.tensor([0, 2]),), pyburn.ones(2))",
        .samples = R"(
t(4, 3), t(2, 3), [tensor([2, 0])]
t(4, 3), t(4, 2, 1), [tensor([[2], [0]])], 1
t(4, 3), t(2, 2), [tensor([-1, 0]), tensor([[0], [2]])]
t(4, 3), t(5, 3), [index(5, below=4)], accumulate=True
t(2, 3, 4), t(2, 2), [index(2, below=3), index(2, below=4)], axis=1, accumulate=True
t(2, 3, 4), t(2, 2, 4), [tensor([2, 1])], 1
t(3, 4).T, t(3, 2).T, [tensor([3, 1])]
t(2, 1).expand(2, 4), t(2, 1).expand(2, 2), [tensor([3, 1])], 1
t(4, 3), t(3), [tensor(2)]
t(4), t(), [tensor(2)]
t(4, 0), t(2, 0), [tensor([3, 1])]
t(4, 3), t(0, 3), [index(0, below=4)]
t(4, dtype=i64), t(6, dtype=i64), [index(6, below=4)], accumulate=True
t(4, dtype=f16), t(6, dtype=f16), [index(6, below=4)], accumulate=True
t(4, dtype=b8), t(2, dtype=b8), [tensor([3, 1])]
t(4, 3), t(1, 3), [tensor([4])] ! out of bounds
t(4, 3), t(3), [tensor([0])] ! does not match
t(4, 3), t(1, 3, dtype=f64), [tensor([0])] ! dtype)"});
}  // namespace op

namespace {
constexpr const char* kPut =
    "t(4, 3), [tensor([2, 0])], t(2, 3)\nt(4, 3), [tensor([2, 0])], t(3)\nt(4, 3), [tensor([-1, 0]), tensor([[0], [2]])], t()\n"
    "t(4, 3), [index(5, below=4)], t(5, 3), accumulate=True\nt(4), [tensor([True, False, True, False])], t(2)\n"
    "t(2, 3), [tensor([[True, False, True], [False, True, False]])], t(1)\nt(0, 3), [index(0, below=1)], t(0, 3)\n"
    "t(3, 4).T, [tensor([3, 1])], t(3, 2).T\nt(4, 3), [tensor([2, 0])], t(1, 3).expand(2, 3)\nt(4, dtype=i64), [index(6, below=4)], t(6, "
    "dtype=i64), True\n"
    "t(4, 3), [tensor([4])], t(3) ! out of bounds\nt(4, 3), [tensor([0, 1])], t(5) ! shape mismatch\n"
    "t(4, 3), [tensor([0])], t(3, dtype=f64) ! dtype";
constinit FunctionInfo functions[] = {
    {.schema = "index_put(Tensor input, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
        .doc = "Returns a copy of input with values written (or accumulated) at input[indices].",
        .example = "pyburn.index_put(pyburn.zeros(3), (pyburn.tensor([0, 2]),), pyburn.ones(2))",
        .samples = kPut},
    {.schema = "index_put_(Tensor input, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
        .doc = "Writes (or accumulates) values at input[indices] in place.",
        .torch = "lambda x, *rest, **k: x.clone().index_put_(*rest, **k)",
        .example = "pyburn.zeros(3).index_put_((pyburn.tensor([0, 2]),), pyburn.ones(2))",
        .samples = kPut},
    {.schema = "take(Tensor input, Tensor index) -> Tensor",
        .doc = "Returns the elements of the flattened input at the given indices; negative indices count from the end.",
        .example = "pyburn.take(pyburn.tensor([[1, 2], [3, 4]]), pyburn.tensor([0, -1]))",
        .samples = "t(2, 3), index(4, below=6)\nt(2, 3), tensor([[0, -1], [-6, 5]])\nt(), tensor([0, 0])\nt(3), tensor(2)\nt(3), index(0, "
                   "below=3)\n"
                   "t(3, 2).T, index(4, below=6)\nt(2, 1).expand(2, 3), index(2, 2, below=6)\nt(3, dtype=i64), index(2, below=3)\n"
                   "t(2, 3), tensor([6]) ! out of bounds\nt(3), t(2) ! integer",
        .out = true},
    {.schema = "put(Tensor input, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
        .doc = "Returns a copy of input with source written (or accumulated) at indices into the flattened input.",
        .example = "pyburn.put(pyburn.zeros(2, 2), pyburn.tensor([0, -1]), pyburn.ones(2))",
        .samples = "t(2, 3), tensor([0, 4]), t(2)\nt(2, 3), tensor([[0, -1], [0, 5]]), t(2, 2), accumulate=True\nt(), tensor([0]), t(1)\n"
                   "t(3), index(0, below=3), t(0)\nt(3, 2).T, tensor([1, 3]), t(2), False\nt(2, 1).expand(2, 3), tensor([1, 3]), t(2)\n"
                   "t(3, dtype=i64), tensor([1, 2]), t(2, dtype=i64), True\nt(2, 3), tensor([6]), t(1) ! out of bounds\n"
                   "t(2, 3), tensor([0, 1]), t(3) ! as many elements\nt(3), tensor([0]), t(1, dtype=f64) ! dtype",
        .in_place = true},
};

// x with the indexed axes side by side: a view.
struct SideBySide {
  TensorHandle x;
  Tensors indices;
  int axis;     // where they begin
  Shape named;  // what the indices name
};
SideBySide side_by_side(const TensorHandle& x, std::span<const AxisIndex> at) {
  SideBySide result{x, {}, at[0].axis, {}};
  bool adjacent = true;
  Dims order;
  for (size_t k = 0; k < at.size(); ++k) {
    adjacent &= at[k].axis == at[0].axis + int(k);
    order.push_back(at[k].axis);
    result.indices.push_back(at[k].index);
  }
  if (!adjacent) {
    for (int i = 0; i < x.rank(); ++i) {
      bool taken = false;
      for (const AxisIndex& a : at) taken |= a.axis == i;
      if (!taken) order.push_back(i);
    }
    result.x = permute(x, order);
    result.axis = 0;
  }
  SmallVector<Meta, 4> metas;
  for (const TensorHandle& i : result.indices) metas.push_back(i.meta());
  result.named = named_shape({result.axis, false}, result.x.shape(), {metas.data(), size_t(metas.size())});
  return result;
}

// Indices for the first dimensions; a mask indexes as many dimensions as it has.
SmallVector<AxisIndex, 4> leading(const TensorHandle& x, const Tensors& indices) {
  SmallVector<AxisIndex, 4> at;
  int axis = 0;
  for (const TensorHandle& i : indices) {
    if (i.dtype() == DType::boolean || i.dtype() == DType::uint8) {
      for (AxisIndex& a : mask_indices(x, axis, i)) at.push_back(std::move(a));
      axis += i.rank();
    } else {
      at.push_back({axis++, i});
    }
  }
  return at;
}
}  // namespace

TensorHandle read_at(const TensorHandle& x, std::span<const AxisIndex> at) {
  const SideBySide s = side_by_side(x, at);
  return _index(s.x, s.indices, s.axis);
}

void write_at(const TensorHandle& x, std::span<const AxisIndex> at, const TensorHandle& value, bool accumulate) {
  const SideBySide s = side_by_side(x, at);
  bool fits = value.rank() <= s.named.rank();
  for (int i = 1; fits && i <= value.rank(); ++i) {
    const int64_t n = value.shape()[value.rank() - i];
    fits = n == 1 || n == s.named[s.named.rank() - i];
  }
  require(fits, "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}", value.shape(), s.named);
  const TensorHandle fitted = value.dtype() == x.dtype() ? TensorHandle(value) : cast(value, x.dtype());
  _index_put_into(s.x, s.x, expand(fitted, s.named), s.indices, s.axis, accumulate);
}

void check_mask(const TensorHandle& x, int axis, const TensorHandle& mask) {
  for (int i = 0; i < mask.rank(); ++i)
    require<IndexError>(axis + i < x.rank() && mask.shape()[i] == x.shape()[axis + i],
        "the shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}", mask.shape(), i, x.shape(),
        axis + i);
}

SmallVector<AxisIndex, 4> mask_indices(const TensorHandle& x, int axis, const TensorHandle& mask) {
  check_mask(x, axis, mask);
  const TensorHandle places = nonzero(mask);
  SmallVector<AxisIndex, 4> result;
  for (int i = 0; i < mask.rank(); ++i) result.push_back({axis + i, select(places, 1, i)});
  return result;
}

TensorHandle fn::index_put_(const TensorHandle& input, const Tensors& indices, const TensorHandle& values, bool accumulate) {
  require<DTypeError>(values.dtype() == input.dtype(), "[index_put_] expected values of the dtype of the input: got {} for {}",
      values.dtype(), input.dtype());
  const SmallVector<AxisIndex, 4> at = leading(input, indices);
  require<IndexError>(!at.empty(), "[index_put_] expected at least one index");
  write_at(input, {at.data(), size_t(at.size())}, values, accumulate);
  return input;
}
TensorHandle fn::index_put(const TensorHandle& input, const Tensors& indices, const TensorHandle& values, bool accumulate) {
  return index_put_(clone(input), indices, values, accumulate);
}
TensorHandle fn::take(const TensorHandle& input, const TensorHandle& index) {
  return _index(reshape(input, Dims{input.numel()}), {index}, 0);
}
TensorHandle fn::put(const TensorHandle& input, const TensorHandle& index, const TensorHandle& source, bool accumulate) {
  require(
      index.numel() == source.numel(), "[put] source must have as many elements as index: got {} and {}", source.shape(), index.shape());
  require<DTypeError>(
      source.dtype() == input.dtype(), "[put] expected input and source of one dtype: got {} and {}", input.dtype(), source.dtype());
  const TensorHandle flat = reshape(input, Dims{input.numel()});
  return reshape(_index_put(flat, reshape(source, index.shape()), {index}, 0, accumulate), input.shape());
}

void register_index_tensors(OpTable& table) {
  table.add({&op::_index, &op::_index_put});
  table.add(functions);
}

}  // namespace pyburn
