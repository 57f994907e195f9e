// Choices of elements: combinations, parts of bounded length, diagonals, sums back to a smaller size.
#include "pyburn/ops/generated/selection.h"

#include <algorithm>

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/index_tensors.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/fault.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "combinations(Tensor input, int r=2, bool with_replacement=False) -> Tensor",
        .doc = "Returns all combinations of r elements of a 1-d tensor, one per row.",
        .example = "pyburn.combinations(pyburn.tensor([1, 2, 3]))",
        .samples = R"(
t(4)
t(4), 3
t(3), 2, True
t(3), r=1
t(3), 0
t(2), 3
t(0)
t(6)[::2]
t(1).expand(3)
t(3, dtype=i64)
t() ! vector
t(3), -1 ! negative)"},
    {.schema = "renorm(Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor",
        .doc = "Scales the entries along dim whose p-norm exceeds maxnorm down to maxnorm.",
        .example = "pyburn.renorm(pyburn.tensor([[3., 4.], [0.3, 0.4]]), 2, 0, 1)",
        .samples = R"(
t(3, 4), 2, 0, 1.0
t(3, 4), 1, 1, 2
t(2, 3, 4), 3.5, -1, 1.5
t(0, 4), 2, 1, 1
t(4, 3).T, 2, 0, 1.0
t(3, 1).expand(3, 4), 2, 0, 1.0
t(3, 4, dtype=f64), 2, 0, 1.0
t(), 2, 0, 1.0 ! two dimensions
t(3, 4), 2, 2, 1.0 ! dim out of range
t(3, 4), 2, 0, -1.0 ! maxnorm)",
        .in_place = true},
    {.schema = "index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
        .doc = "Reduces the entries of source into input along dim at the given indices with 'prod', 'mean', 'amax' or 'amin'.",
        .torch = "lambda x, *a, **k: torch.index_reduce(x, *a, **k)",
        .example = "pyburn.index_reduce(pyburn.ones(2), 0, pyburn.tensor([0, 0]), pyburn.tensor([2., 3.]), 'prod')",
        .samples = R"(
t(5, 3), 0, tensor([0, 4, 0]), t(3, 3), 'prod'
t(5, 3), 0, tensor([0, 4, 0]), t(3, 3), 'mean'
t(3, 5), 1, tensor([0, 4, 0]), t(3, 3), 'amax'
t(3, 5), -1, tensor([0, 4, 0]), t(3, 3), 'amin', include_self=False
t(5, 3), 0, tensor([0, 4, 0]), t(3, 3), 'mean', include_self=False
t(5, 0), 0, tensor([0, 4]), t(2, 0), 'prod'
t(3, 5).T, 0, tensor([0, 4, 0]), t(3, 3), 'amax'
t(5, 1).expand(5, 3), 0, tensor([0, 4, 0]), t(3, 3), 'amax'
t(5, dtype=i64), 0, tensor([0, 4, 0]), t(3, dtype=i64), 'amax'
t(), 0, tensor([0]), t(1), 'prod' ! dimension
t(5, 3), 0, tensor([0, 4]), t(3, 3), 'prod' ! do not match
t(5, 3), 0, tensor([0, 5, 0]), t(3, 3), 'prod' ! out of bounds
t(5, 3), 0, tensor([0, 4, 0]), t(3, 3), 'sum' ! reduce is)",
        .in_place = true},
    {.schema = "sum_to_size(Tensor input, int[] size) -> Tensor",
        .doc = "Sums over the dimensions that were broadcast, so that the result has the given shape.",
        .torch = "lambda x, size: x.sum_to_size(size)",
        .example = "pyburn.ones(2, 3).sum_to_size(1, 3)",
        .samples = R"(
t(2, 3), (1, 3)
t(2, 3), (3,)
t(2, 3, 4), (3, 1)
t(2, 3), (2, 3)
t(2, 3), ()
t(), ()
t(0, 3), (1, 3)
t(3, 2).T, (2, 1)
t(2, 1).expand(2, 3), (2, 1)
t(2, 3), (2, 2) ! broadcast)"},
    {.schema = "narrow_copy(Tensor input, int dim, int start, int length) -> Tensor",
        .doc = "Returns a copy of the entries start to start + length along dim.",
        .example = "pyburn.narrow_copy(pyburn.arange(5), 0, 1, 2)",
        .samples = R"(
t(5), 0, 1, 2
t(3, 4), 1, 0, 3
t(3, 4), -2, 2, 1
t(0, 4), 1, 1, 2
t(4, 3).T, 1, 1, 2
t(3, 1).expand(3, 4), 1, 1, 2
t(), 0, 0, 1 ! dimension
t(5), 0, 4, 2 ! exceeds)",
        .out = true},
    {.schema = "fill(Tensor input, Tensor|Scalar value) -> Tensor",
        .doc = "Returns a tensor like input filled with value, a number or a 0-d tensor.",
        .example = "pyburn.fill(pyburn.zeros(2), 7)",
        .samples = R"(
t(2, 3), 1.5
t(2, 3), 2
t(2, 3), t()
t(), 3
t(0), 3
t(3, 2).T, 1.0
t(2, 1).expand(2, 3), 1.0
t(3, dtype=i64), 2
t(2), t(2) ! 0-d)"},
    {.schema = "fill_diagonal_(Tensor input, Scalar fill_value, bool wrap=False) -> Tensor",
        .doc = "Fills the main diagonal in place; with wrap=True the diagonal of a tall matrix starts again after each block.",
        .torch = "lambda x, v, wrap=False: x.clone().fill_diagonal_(v, wrap)",
        .example = "pyburn.zeros(3, 3).fill_diagonal_(1)",
        .samples = R"(
t(3, 3), 5
t(3, 4), 5.5
t(7, 3), 5
t(7, 3), 5, True
t(3, 7), 5, wrap=True
t(3, 3, 3), 2
t(0, 3), 1
t(4, 3).T, 1
t(3, 3, dtype=i64), 2
t(), 1 ! at least 2
t(2, 3, 3), 1 ! equal)"},
    {.schema = "unravel_index(Tensor indices, int[] shape) -> Tensor[]",
        .doc = "Converts flat indices into a tuple of indices for each dimension of a tensor of the given shape.",
        .example = "pyburn.unravel_index(pyburn.tensor([4, 5]), (3, 2))",
        .samples = R"(
tensor([4, 5, 0]), (3, 2)
tensor([[4, 5], [11, 0]]), (2, 3, 2)
tensor(3), (4,)
index(0, below=3), (3, 2)
tensor([[4, 5], [3, 0]]).T, (3, 2)
tensor([[4], [3]]).expand(2, 2), (3, 2)
t(2), (3, 2) ! integers
tensor([4]), (3, -2) ! negative)"},
    {.schema = "angle(Tensor input) -> Tensor",
        .doc = "Computes the angle of real numbers: 0 for non-negative, pi for negative elements, NaN for NaN.",
        .example = "pyburn.angle(pyburn.tensor([1., -1.]))",
        .samples = R"(
t(2, 3)
t()
t(0)
t(3, 2).T
t(2, 1).expand(2, 3)
tensor([0., -inf, nan, -0.]).constant
t(5, dtype=i64)
t(5, dtype=f64)
None ! Tensor)",
        .out = true},
};

}  // namespace

TensorHandle fn::combinations(const TensorHandle& input, int64_t r, bool with_replacement) {
  require(input.rank() == 1, "expected a vector: got {}", input.shape());
  require<ValueError>(r >= 0, "r must not be negative: got {}", r);
  if (r == 0) return zeros(Dims{0}, input.dtype(), &input.device());
  require<ValueError>(r <= kMaxRank || planted_fault == Fault::unchecked_sizes, "r must be at most {}: got {}", kMaxRank,
      r);  // a dimension for each element of a combination
  const TensorHandle numbers = arange(0, input.numel(), 1, DType::int64, &input.device());
  if (r == 1) return unsqueeze(index_select(input, 0, numbers), 1);
  const Tensors grids = meshgrid(Tensors(r, numbers), "ij");
  TensorHandle chosen;
  for (int64_t i = 0; i + 1 < r; ++i) {
    const TensorHandle ordered = with_replacement ? le(grids[i], grids[i + 1]) : lt(grids[i], grids[i + 1]);
    chosen = chosen.defined() ? logical_and(chosen, ordered) : ordered;
  }
  Tensors columns;
  for (const TensorHandle& grid : grids) columns.push_back(index_select(input, 0, masked_select(grid, chosen)));
  return stack(columns, 1);
}

TensorHandle fn::renorm(const TensorHandle& input, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  require(input.rank() >= 2, "expected at least two dimensions: got {}", input.shape());
  require<ValueError>(maxnorm.to_double() >= 0, "maxnorm must not be negative: got {}", maxnorm);
  const int axis = normalise_dim(dim, input.rank());
  Dims others;
  for (int i = 0; i < input.rank(); ++i)
    if (i != axis) others.push_back(i);
  const TensorHandle norm = linalg_vector_norm(input, p, others, true);
  return input * where(gt(norm, maxnorm), div(maxnorm, norm + 1e-7), 1.0);
}

TensorHandle fn::index_reduce(const TensorHandle& input, int64_t dim, const TensorHandle& index, const TensorHandle& source,
    const std::string& reduce, bool include_self) {
  if (input.rank() == 0 && source.rank() == 0)
    return reshape(
        index_reduce(reshape(input, Dims{1}), dim, reshape(index, Dims{-1}), reshape(source, Dims{1}), reduce, include_self), Dims{});
  require(input.rank() > 0 && source.rank() == input.rank(),
      "expected the same number of dimensions, one dimension at least or none: got {} and {}", input.shape(), source.shape());
  require<ValueError>(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
      "reduce is 'prod', 'mean', 'amax' or 'amin': got '{}'", reduce);
  const int axis = normalise_dim(dim, input.rank());
  Shape expected = input.shape();
  expected[axis] = index.numel();
  require(index.rank() == 1 && source.shape() == expected, "the shapes of index and source do not match: got {} and {} for {}",
      index.shape(), source.shape(), input.shape());
  Dims along(input.rank(), 1);
  along[axis] = index.numel();
  const TensorHandle places = index.dtype() == DType::int64 ? index : cast(index, DType::int64);
  return scatter_reduce(input, axis, expand(reshape(places, along), source.shape()), source, reduce, include_self);
}

TensorHandle fn::sum_to_size(const TensorHandle& input, const Dims& size) {
  const Shape& x = input.shape();
  const int64_t added = x.rank() - int64_t(size.size());
  Dims over;
  bool fits = added >= 0;
  for (int64_t i = 0; fits && i < x.rank(); ++i) {
    const bool summed = i < added || (size[i - added] == 1 && x[i] != 1);
    if (summed) over.push_back(i);
    fits = i < added || summed || size[i - added] == x[i];
  }
  require(fits, "size does not broadcast to input: got {} for {}", size, x);
  if (size.empty()) return sum(input);
  return over.empty() ? input : reshape(sum(input, over, true), size);
}

TensorHandle fn::narrow_copy(const TensorHandle& input, int64_t dim, int64_t start, int64_t length) {
  return clone(narrow(input, dim, start, length));
}

TensorHandle fn::fill(const TensorHandle& input, const Operand& value) {
  if (!value.is_tensor()) return full_like(input, value.value());
  require(value.tensor().rank() == 0, "expected a 0-d value: got {}", value.tensor().shape());
  return independent(clone(expand(cast(value.tensor(), input.dtype()), input.shape())));
}

TensorHandle fn::fill_diagonal_(const TensorHandle& input, const Scalar& fill_value, bool wrap) {
  require(input.rank() >= 2, "expected at least 2 dimensions: got {}", input.shape());
  if (input.rank() == 2) {
    const int64_t rows = input.shape()[0], columns = input.shape()[1];
    for (int64_t first = 0; first < rows; first += columns + 1) {
      fill_(diagonal(slice(input, 0, first)), fill_value);
      if (!wrap) break;
    }
    return input;
  }
  int64_t step = 0;
  for (int i = 0; i < input.rank(); ++i) {
    require(input.shape()[i] == input.shape()[0], "expected equal sizes of all dimensions: got {}", input.shape());
    step += input.strides()[i];
  }
  fill_(as_strided(input, Dims{input.shape()[0]}, Dims{step}), fill_value);
  return input;
}

Tensors fn::unravel_index(const TensorHandle& indices, const Dims& shape) {
  require<DTypeError>(is_integral(indices.dtype()) && indices.dtype() != DType::boolean, "expected integers: got {}", indices.dtype());
  for (int64_t n : shape) require<ValueError>(n >= 0, "the shape must not be negative: got {}", shape);
  Tensors places(shape.size(), {});
  TensorHandle rest = indices.dtype() == DType::int64 ? indices : cast(indices, DType::int64);
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    places[i] = remainder(rest, shape[i]);
    rest = floor_divide(rest, shape[i]);
  }
  return places;
}

TensorHandle fn::angle(const TensorHandle& input) {
  const TensorHandle x = is_floating(input.dtype()) ? input : cast(input, default_dtype());
  return where(lt(x, 0), 3.14159265358979323846, where(eq(x, x), x * 0.0, x));
}

void register_selection(OpTable& table) { table.add(functions); }

}  // namespace pyburn
