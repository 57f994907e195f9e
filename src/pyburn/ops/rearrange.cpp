// The elements of a tensor in another order, repeated, or left out.
#include "pyburn/ops/rearrange.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {

RepeatCounts RepeatCounts::from(const TensorHandle& repeats, std::optional<int64_t> output_size) {
  require(repeats.rank() == 1, "repeats must be 1-d: got {}", repeats.shape());
  require<DTypeError>(
      repeats.dtype() == DType::int64 || repeats.dtype() == DType::int32, "expected an integer tensor of repeats: got {}", repeats.dtype());
  return {output_size.value_or(-1)};
}

namespace {

Meta infer_flip(const Flip& a, Metas in) {
  for (int64_t i = 0; i < a.dims.size(); ++i) {
    require<IndexError>(a.dims[i] >= 0 && a.dims[i] < in[0].shape.rank(), "dims out of range: got {} for {}", a.dims, in[0].shape);
    require(i == 0 || a.dims[i - 1] < a.dims[i], "expected each dimension once: got {}", a.dims);
  }
  return in[0];
}
Grads grad_flip(const Flip& a, const GradContext& c) { return {flip(c.dy(), a.dims)}; }

Meta infer_triangle(const Triangle&, Metas in) {
  require(in[0].shape.rank() >= 2, "expected at least 2 dimensions: got {}", in[0].shape);
  return in[0];
}
Grads grad_tril(const Triangle& a, const GradContext& c) { return {tril(c.dy(), a.diagonal)}; }
Grads grad_triu(const Triangle& a, const GradContext& c) { return {triu(c.dy(), a.diagonal)}; }

constexpr const char* kTriangle = R"(
t(3, 3)
t(3, 4), 1
t(4, 3), -2
t(2, 3, 3), diagonal=-1
t(3, 3), 5
t(0, 3)
t(4, 3).T
t(3, 1).expand(3, 3)
t(3, 3, dtype=i64)
t(3, 3, dtype=bf16)
t(3, 3, dtype=b8)
t() ! at least 2
t(3) ! at least 2)";

Meta infer_counts(const RepeatCounts& a, Metas in) {
  (void)in;
  return {Shape{a.output_size}, DType::int64};
}

}  // namespace

namespace op {
constinit OpInfo flip = define<Flip, infer_flip, grad_flip>({.schema = "flip(Tensor input, int[] dims) -> Tensor",
    .doc = "Reverses the order of the elements along the given dimensions. Returns a copy.",
    .example = "pyburn.flip(pyburn.arange(3), 0)",
    .samples = R"(
t(4), (0,)
t(2, 3), (0, 1)
t(2, 3, 4), (-1,)
t(2, 3, 4), (0, 2)
t(2, 3), ()
t(), ()
t(0, 3), (1,)
t(2, 3).T, (0,)
t(2, 1).expand(2, 3), (0,)
t(5, dtype=i64), (0,)
t(5, dtype=bf16), (0,)
t(5, dtype=b8), (0,)
t(2, 3), (2,) ! dim out of range
t(2, 3), (0, 0) ! twice)"});
constinit OpInfo tril = define<Triangle, infer_triangle, grad_tril>({.schema = "tril(Tensor input, int diagonal=0) -> Tensor",
    .doc = "Returns the lower triangle of matrices; the other elements are set to 0.",
    .in_place = true,
    .changes_first = true,
    .example = "pyburn.tril(pyburn.ones(3, 3))",
    .samples = kTriangle});
constinit OpInfo triu = define<Triangle, infer_triangle, grad_triu>({.schema = "triu(Tensor input, int diagonal=0) -> Tensor",
    .doc = "Returns the upper triangle of matrices; the other elements are set to 0.",
    .in_place = true,
    .changes_first = true,
    .example = "pyburn.triu(pyburn.ones(3, 3))",
    .samples = kTriangle});
constinit OpInfo repeat_interleave_indices =
    define<RepeatCounts, infer_counts>({.schema = "repeat_interleave.indices(Tensor repeats, *, int? output_size=None) -> Tensor",
        .doc = "Returns the index i repeated repeats[i] times, for each i.",
        .kind = Kind::dynamic,
        .no_grad = "the result is an index",
        .torch = "torch.repeat_interleave",
        .example = "pyburn.repeat_interleave(pyburn.tensor([1, 2]))",
        .samples = R"(
tensor([1, 0, 2])
tensor([1, 2]), output_size=3
index(0, below=3)
index(6, below=3)[::2]
index(1, below=3).expand(4)
tensor(2) ! 1-d
tensor([1, -1]) ! negative
tensor([1., 2.]) ! integer
tensor([1, 2]), output_size=4 ! output_size)"});
}  // namespace op

namespace {

constinit FunctionInfo functions[] = {
    {.schema = "repeat(Tensor input, int[] repeats) -> Tensor",
        .doc = "Repeats input along each dimension; additional repeats add dimensions in front.",
        .torch = "lambda x, repeats: x.repeat(repeats)",
        .example = "pyburn.tensor([1, 2]).repeat(2, 2)",
        .samples = "t(2, 3), (2, 1)\nt(3), (2, 2)\nt(2, 3), (1, 0)\nt(), (2,)\nt(), ()\nt(0, 2), (2, 2)\nt(2, 3).T, (1, 2)\n"
                   "t(2, 1).expand(2, 3), (2, 1)\nt(3, dtype=i64), (2,)\nt(2, 3), (2,) ! smaller\nt(2), (-1,) ! negative"},
    {.schema = "tile(Tensor input, int[] dims) -> Tensor",
        .doc = "Repeats input along each dimension; missing repeats in front count as 1.",
        .example = "pyburn.tile(pyburn.tensor([1, 2]), (2,))",
        .samples = "t(2, 3), (2, 1)\nt(2, 3), (2,)\nt(3), (2, 2)\nt(), (2,)\nt(), ()\nt(0, 2), (2, 2)\nt(2, 3).T, (1, 2)\n"
                   "t(2, 1).expand(2, 3), (2, 1)\nt(2), (-1,) ! negative"},
    {.schema = "repeat_interleave(Tensor input, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
        .doc = "Repeats each element along dim (of the flattened input by default).",
        .example = "pyburn.repeat_interleave(pyburn.tensor([1, 2]), 2)",
        .samples = "t(2, 3), 2\nt(2, 3), 3, 0\nt(2, 3), 2, dim=-1, output_size=6\nt(2), 0, 0\nt(), 2\nt(0, 2), 2, 1\nt(2, 3).T, 2, 0\n"
                   "t(2, 1).expand(2, 3), 2, 1\nt(2), -1 ! negative\nt(2), 2, 1 ! dim out of range"},
    {.schema = "repeat_interleave.counts(Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor",
        .doc = "Repeats each element along dim (of the flattened input by default), with one count per element.",
        .torch = "torch.repeat_interleave",
        .example = "pyburn.repeat_interleave(pyburn.tensor([1, 2]), pyburn.tensor([2, 1]))",
        .samples = "t(2, 3), tensor([2, 1]), 0\nt(2), tensor([0, 3])\nt(2, 3), tensor([2]), dim=1, output_size=6\nt(), tensor([2])\n"
                   "t(0, 2), index(2, below=3), 1\nt(2, 3).T, tensor([1, 0, 2]), 0\nt(2, 1).expand(2, 3), tensor(2), 1\n"
                   "t(3), tensor([1, 2]), 0 ! same size\nt(2), tensor([1., 2.]) ! integer"},
    {.schema = "roll(Tensor input, int[] shifts, int[]? dims=None) -> Tensor",
        .doc = "Shifts the elements along dims (of the flattened input by default); elements that leave at one end re-enter at the other.",
        .torch = "lambda x, shifts, dims=None: torch.roll(x, shifts, dims)",
        .example = "pyburn.roll(pyburn.arange(4), 1)",
        .samples = "t(5), 2\nt(5), -1, 0\nt(2, 3), 1\nt(2, 3), (1, 2), (0, 1)\nt(2, 3, 4), (-1, 3), dims=(0, -1)\nt(5), 12, 0\nt(), 1\n"
                   "t(0, 3), 1, 0\nt(2, 3).T, 1, 0\nt(2, 1).expand(2, 3), 1, 1\nt(5, dtype=b8), 2\nt(5), (1, 2) ! same length\n"
                   "t(5), 1, 1 ! dim out of range"},
    {.schema = "fliplr(Tensor input) -> Tensor",
        .doc = "Reverses the order of the elements along dimension 1.",
        .example = "pyburn.fliplr(pyburn.ones(2, 3))",
        .samples = "t(2, 3)\nt(2, 3, 4)\nt(0, 3)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt() ! at least 2"},
    {.schema = "flipud(Tensor input) -> Tensor",
        .doc = "Reverses the order of the elements along dimension 0.",
        .example = "pyburn.flipud(pyburn.arange(3))",
        .samples = "t(2, 3)\nt(4)\nt(0, 3)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt() ! at least 1"},
    {.schema = "rot90(Tensor input, int k=1, int[] dims=(0,1)) -> Tensor",
        .doc = "Rotates input k times by 90 degrees in the plane of two dimensions, from the first towards the second.",
        .torch = "lambda x, k=1, dims=(0, 1): torch.rot90(x, k, dims)",
        .example = "pyburn.rot90(pyburn.arange(4).view(2, 2))",
        .samples = "t(2, 3)\nt(2, 3), 2\nt(2, 3), 3\nt(2, 3), -1\nt(2, 3), 4\nt(2, 3, 4), 1, (1, 2)\nt(2, 3, 4), k=1, dims=(-1, 0)\n"
                   "t(0, 2)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt() ! at least 2\nt(2, 3), 1, (0, 0) ! differ"},
    {.schema = "diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
        .doc = "Creates matrices with the last dimension of input on a diagonal and 0 elsewhere.",
        .example = "pyburn.diag_embed(pyburn.tensor([1., 2.]))",
        .samples = "t(3)\nt(2, 3), 1\nt(2, 3), -2\nt(2, 3), offset=1, dim1=0, dim2=2\nt(0)\nt(3, 2).T\nt(2, 1).expand(2, 3)\n"
                   "t(2, dtype=i64)\nt() ! dimension\nt(2), 0, 1, 1 ! differ"},
    {.schema = "diag(Tensor input, int diagonal=0) -> Tensor",
        .doc = "Creates a matrix with a 1-d tensor on its diagonal, or returns a copy of the diagonal of a matrix.",
        .example = "pyburn.diag(pyburn.tensor([1., 2.]))",
        .samples = "t(3)\nt(3), 1\nt(3, 4)\nt(3, 4), diagonal=-1\nt(0)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt() ! 1 or 2\nt(2, 2, 2) ! 1 or 2",
        .out = true},
    {.schema = "diagflat(Tensor input, int offset=0) -> Tensor",
        .doc = "Creates a matrix with the flattened input on its diagonal.",
        .example = "pyburn.diagflat(pyburn.ones(2, 1))",
        .samples = "t(3)\nt(2, 2), 1\nt(3), offset=-1\nt()\nt(0)\nt(3, 2).T\nt(2, 1).expand(2, 2)\n1 ! Tensor"},
};

// x with each dimension i of size n that is repeated as (repeats[i], n), or (n, repeats[i]) for `each`, expanded and merged.
TensorHandle stretched(const TensorHandle& x, const Dims& repeats, bool each) {
  check_rank(repeats);
  const int extra = int(repeats.size()) - x.rank();
  Dims apart, wide, together;
  for (int64_t i = 0; i < repeats.size(); ++i) {
    const int64_t n = i < extra ? 1 : x.shape()[i - extra], r = repeats[i];
    together.push_back(Checked(n) * r);
    if (!each && r != 1) apart.push_back(1), wide.push_back(r);
    apart.push_back(n), wide.push_back(n);
    if (each && r != 1) apart.push_back(1), wide.push_back(r);
  }
  return reshape(expand(reshape(x, apart), wide), together);
}
// Copies are contiguous, whatever the order of the input, so that `view` may follow.
TensorHandle fresh(const TensorHandle& y, const TensorHandle& x) {
  const TensorHandle plain = contiguous(y);
  return plain.storage() == x.storage() ? clone(plain) : plain;
}

}  // namespace

TensorHandle fn::repeat(const TensorHandle& input, const Dims& repeats) {
  require(repeats.size() >= input.rank(), "[repeat] the number of repeats must not be smaller than the number of dimensions: got {} for {}",
      repeats, input.shape());
  for (int64_t r : repeats) require(r >= 0, "[repeat] repeats must not be negative: got {}", repeats);
  return fresh(stretched(input, repeats, false), input);
}
TensorHandle fn::tile(const TensorHandle& input, const Dims& dims) {
  Dims repeats(std::max<int64_t>(input.rank() - dims.size(), 0), 1);
  repeats.append(dims.begin(), dims.end());
  return repeat(input, repeats);
}
TensorHandle fn::repeat_interleave(
    const TensorHandle& input, int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
  require(repeats >= 0, "[repeat_interleave] repeats must not be negative: got {}", repeats);
  const TensorHandle x = dim ? TensorHandle(input) : reshape(input, Dims{input.numel()});
  const int axis = normalise_dim(dim.value_or(0), x.rank());
  if (x.rank() == 0) return repeat_interleave(reshape(x, Dims{1}), repeats, 0, output_size);
  const int64_t repeated = Checked(x.shape()[axis]) * repeats;
  require(!output_size || *output_size == repeated, "[repeat_interleave] output_size must be the sum of repeats: got {} for {}",
      output_size.value_or(repeated), repeated);
  Dims counts(x.rank(), 1);
  counts[axis] = repeats;
  return fresh(stretched(x, counts, true), input);
}
TensorHandle fn::repeat_interleave(
    const TensorHandle& input, const TensorHandle& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
  const TensorHandle x = dim ? TensorHandle(input) : reshape(input, Dims{input.numel()});
  const int axis = normalise_dim(dim.value_or(0), x.rank());
  const int64_t n = x.rank() ? x.shape()[axis] : 1;
  require(repeats.rank() <= 1, "[repeat_interleave] repeats must be 0-d or 1-d: got {}", repeats.shape());
  require(repeats.numel() == n || repeats.numel() == 1,
      "[repeat_interleave] repeats must have the same size as input along dim: got {} for {}", repeats.shape(), x.shape());
  const TensorHandle counts = expand(repeats.rank() ? TensorHandle(repeats) : reshape(repeats, Dims{1}), Dims{n});
  return index_select(x.rank() ? x : reshape(x, Dims{1}), axis, repeat_interleave(counts, output_size));
}

TensorHandle fn::roll(const TensorHandle& input, const Dims& shifts, const OptionalDims& dims) {
  if (!dims || dims->empty()) {
    require(shifts.size() == 1, "[roll] shifts and dims must have the same length: got {} and none", shifts);
    return reshape(roll(reshape(input, Dims{input.numel()}), shifts, Dims{0}), input.shape());
  }
  require(shifts.size() == dims->size(), "[roll] shifts and dims must have the same length: got {} and {}", shifts, *dims);
  TensorHandle y = input;
  for (int64_t i = 0; i < shifts.size(); ++i) {
    require<IndexError>(input.rank() > 0, "[roll] there is no dimension {}: got rank 0", (*dims)[i]);
    const int axis = normalise_dim((*dims)[i], input.rank());
    const int64_t n = input.shape()[axis];
    const int64_t split = n ? (n - shifts[i] % n) % n : 0;
    if (split) y = cat({slice(y, axis, split, n), slice(y, axis, 0, split)}, axis);
  }
  return y.is_same(input) ? clone(input) : y;
}
TensorHandle fn::fliplr(const TensorHandle& input) {
  require(input.rank() >= 2, "[fliplr] expected at least 2 dimensions: got {}", input.shape());
  return flip(input, Dims{1});
}
TensorHandle fn::flipud(const TensorHandle& input) {
  require(input.rank() >= 1, "[flipud] expected at least 1 dimension: got {}", input.shape());
  return flip(input, Dims{0});
}
TensorHandle fn::rot90(const TensorHandle& input, int64_t k, const Dims& dims) {
  require(input.rank() >= 2, "[rot90] expected at least 2 dimensions: got {}", input.shape());
  require(dims.size() == 2, "[rot90] expected two dimensions of rotation: got {}", dims);
  const int a = normalise_dim(dims[0], input.rank()), b = normalise_dim(dims[1], input.rank());
  require(a != b, "[rot90] the dimensions of rotation must differ: got {}", dims);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(input, Dims{b}), a, b);
    case 2:
      return flip(input, Dims{a, b});
    case 3:
      return transpose(flip(input, Dims{a}), a, b);
    default:
      return clone(input);
  }
}

TensorHandle fn::diag_embed(const TensorHandle& input, int64_t offset, int64_t dim1, int64_t dim2) {
  require(input.rank() > 0, "[diag_embed] expected at least one dimension: got rank 0");
  const int rank = input.rank() + 1, a = normalise_dim(dim1, rank), b = normalise_dim(dim2, rank);
  require(a != b, "[diag_embed] the two dimensions of a diagonal must differ: got {} twice", a);
  const int64_t n = input.shape().back() + (offset < 0 ? 0 - Checked(offset) : Checked(offset));
  Dims size(rank, n);
  for (int i = 0, from = 0; i < rank; ++i)
    if (i != a && i != b) size[i] = input.shape()[from++];
  const TensorHandle matrices = zeros(size, input.dtype(), &input.device(), false);
  copy_into(diagonal(matrices, offset, a, b), input);
  return matrices;
}
TensorHandle fn::diag(const TensorHandle& input, int64_t offset) {
  require(input.rank() == 1 || input.rank() == 2, "[diag] expected 1 or 2 dimensions: got {}", input.shape());
  return input.rank() == 1 ? diag_embed(input, offset, 0, 1) : clone(diagonal(input, offset, 0, 1));
}
TensorHandle fn::diagflat(const TensorHandle& input, int64_t offset) { return diag(reshape(input, Dims{input.numel()}), offset); }

void register_rearrange(OpTable& table) {
  table.add({&op::flip, &op::tril, &op::triu, &op::repeat_interleave_indices});
  table.add(functions);
}

}  // namespace pyburn
