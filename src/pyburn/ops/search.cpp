// Places in sorted sequences, counts of values, distinct values.
#include "pyburn/ops/search.h"

#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/search.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer_search(const SearchSorted& a, Metas in) {
  const Shape &sorted = in[0].shape, &values = in[1].shape;
  require(sorted.rank() > 0, "expected a sequence with at least one dimension: got rank 0");
  bool fits = sorted.rank() == 1 || sorted.rank() == values.rank();
  for (int i = 0; fits && sorted.rank() > 1 && i < sorted.rank() - 1; ++i) fits = sorted[i] == values[i];
  require(fits, "the shapes of values and sequences do not match: got {} and {}", values, sorted);
  return {values, a.result};
}
Meta infer_histc(const Histogram& a, Metas in) {
  require<ValueError>(a.bins > 0, "expected at least one bin: got {}", a.bins);
  require<ValueError>(a.min <= a.max, "max must not be less than min: got {} and {}", a.min, a.max);
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return {Shape{a.bins}, in[0].dtype};
}

MetaList infer_distinct(const Distinct& a, Metas in) {
  Shape parts = a.dim >= 0 ? in[0].shape : Shape{-1};
  if (a.dim >= 0) {
    require(a.dim < parts.rank(), "dim out of range: got {} for {}", a.dim, parts);
    parts[int(a.dim)] = -1;
  }
  const Shape inverse = a.dim >= 0 ? Shape{in[0].shape[int(a.dim)]} : in[0].shape;
  return {{parts, in[0].dtype}, {inverse, DType::int64}, {Shape{-1}, DType::int64}};
}

Meta infer_bincount(const BinCount&, Metas in) {
  const bool weighted = in.size() > 1 && !in[1].shape.empty();
  return {Shape{-1}, !weighted ? DType::int64 : in[1].dtype == DType::float32 ? DType::float32 : DType::float64};
}

}  // namespace

namespace op {
constinit OpInfo searchsorted = define<SearchSorted, infer_search>(
    {.schema = "searchsorted(Tensor sorted_sequence, Tensor values, *, bool out_int32=False, bool right=False) -> Tensor",
        .doc = "Where values would have to be inserted into a sequence that is sorted along its last axis, to keep it so.",
        .cast = Cast::promote,
        .no_grad = "the result is an index",
        .torch = "lambda s, v, out_int32=False, right=False: torch.searchsorted(s, v, out_int32=out_int32, right=right)",
        .example = "pyburn.searchsorted(pyburn.tensor([1., 3., 5.]), pyburn.tensor([3., 6.]))",
        .samples = R"(
tensor([1., 3., 5.]), tensor([[3., 6., 0.], [1., 4., 5.]])
tensor([1., 3., 3., 5.]), tensor([3., 6., 0.]), right=True
tensor([[1., 3., 5.], [2., 4., 6.]]), tensor([[3., 6.], [1., 4.]]), out_int32=True
tensor([1, 3, 5]), tensor(3)
tensor([[1., 2.], [3., 4.], [5., 6.]]).T, tensor([[3.], [4.]])
tensor([1., 3., 5.]), t(2, 1).expand(2, 3)
t(0), t(3)
tensor([1., 3.]), t(0, 3)
tensor([1., 3., nan]), tensor([nan, 2.])
t(), t(2) ! dimension
t(2, 3), t(3, 3) ! do not match)"});
constinit OpInfo histc =
    define<Histogram, infer_histc>({.schema = "histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
        .doc = "Counts the elements in bins of equal width between min and max (by default the range of input).",
        .no_grad = "the result is a count",
        .example = "pyburn.histc(pyburn.tensor([1., 2., 1.]), bins=4, min=0, max=3)",
        .samples = R"(
tensor([1., 2., 1., 5.]), 4
tensor([1., 2., 1., 5.]), 4, 1, 3
t(40), bins=5, min=-1, max=1.5
t()
t(0), 3, 0, 1
t(4, 5).T, 7
t(2, 1).expand(2, 5), 3
tensor([2., 2.]), 3
t(5), 0 ! bin
t(5), 3, 2, 1 ! max)"});
constinit OpInfo bincount =
    define<BinCount, infer_bincount>({.schema = "bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor",
        .doc = "Counts the occurrences of each non-negative integer in a 1-d tensor, or sums its weights.",
        .kind = Kind::dynamic,
        .no_grad = "the result is a count",
        .example = "pyburn.bincount(pyburn.tensor([0, 2, 2]))",
        .samples = R"(
index(10, below=4)
index(10, below=4), None, 8
index(10, below=4), t(10).constant
index(10, below=4), weights=t(10, dtype=i64), minlength=2
index(0, below=4), minlength=3
index(10, below=4)[::2]
index(1, below=4).expand(5)
tensor([-1]) ! negative
index(below=4) ! vector
t(4) ! integer)"});
constinit OpInfo distinct = define<Distinct, infer_distinct>(
    {.schema = "distinct(Tensor input, int? dim=None, bool consecutive=False) -> (Tensor output, Tensor inverse, Tensor counts)",
        .doc = "Returns the sorted unique elements (or entries along dim), inverse indices and counts; with consecutive=True, of runs of "
               "equal neighbours.",
        .kind = Kind::dynamic,
        .no_grad = "the result depends on comparisons",
        .torch =
            "lambda x, dim=None, consecutive=False: (torch.unique_consecutive if consecutive else torch.unique)(x, return_inverse=True, "
            "return_counts=True, dim=dim)",
        .example = "pyburn.distinct(pyburn.tensor([3, 1, 3])).output",
        .samples = R"(
tensor([3, 1, 3, 2, 1])
tensor([3., 1., 3., 2., 1.]).constant, consecutive=True
tensor([[1., 2., 1.], [3., 0., 3.]]).constant, 1
tensor([[1., 2.], [1., 2.], [0., 5.], [1., 2.]]).constant, 0
tensor([[1., 2.], [1., 2.], [0., 5.], [1., 2.]]).constant, 0, True
t(3, 4, dtype=i64)
t(3, 4, dtype=b8)
t(5, dtype=f16).constant
tensor(2.).constant
t(0).constant
t(3, 4, dtype=u8).T
t(2, 1, dtype=i64).expand(2, 3)
tensor([nan, 1., nan]).constant
t(2, 3), 2 ! dim out of range)"});
}  // namespace op

namespace {
constexpr const char* kQuantiles = R"(
t(2, 5), 0.3
t(2, 5), 0.5, 1
t(2, 5, 3), 0.25, -2, keepdim=True
t(2, 5), 0.3, 1, interpolation='lower'
t(2, 5), 0.3, 1, interpolation='higher'
t(2, 5), 0.3, 1, interpolation='midpoint'
t(2, 5), 0.3, 1, interpolation='nearest'
t(2, 5), 1.0, keepdim=True
t(), 0.5
t(3, 4).T, 0.7, 0
t(1, 5).expand(2, 5), 0.1, 1
tensor([[1., nan, 3.], [1., 2., 4.]]), 0.5, 1
t(3), 2.0 ! between 0 and 1
t(3), 0.5, interpolation='all' ! interpolation
t(0, 3), 0.5, 1 ! elements
t(3, dtype=i64), 0.5 ! floating)";
constexpr const char* kManyQuantiles = R"(
t(2, 5), tensor([0.3, 0.9])
t(2, 5), tensor([0.3, 0.9]), 1
t(2, 5), tensor(0.3), 1
t(2, 5, 3), tensor([0.25]), -2, keepdim=True
t(2, 5), tensor([0.3, 0.9]), 1, interpolation='lower'
t(), tensor([0.5])
t(3, 4).T, tensor([0.7, 0.2]), 0
t(1, 5).expand(2, 5), tensor([0.1]), 1
tensor([[1., nan, 3.], [1., 2., 4.]]), tensor([0.5, 1.0]), 1
t(0, 3), tensor([0.5]), 1 ! elements
t(3), t(2, 2) ! one dimension)";

constinit FunctionInfo functions[] = {
    {.schema = "searchsorted.any(Tensor sorted_sequence, Tensor values, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
               "sorter=None) -> Tensor",
        .doc =
            "Finds the indices at which values would be inserted into sorted_sequence, sorted along its last dimension, to keep it sorted.",
        .torch = "torch.searchsorted",
        .example = "pyburn.searchsorted(pyburn.tensor([1., 3., 5.]), pyburn.tensor([3., 6.]))",
        .samples = R"(
tensor([1., 3., 5.]), tensor([[3., 6., 0.], [1., 4., 5.]])
tensor([1., 3., 3., 5.]), tensor([3., 6., 0.]), right=True
tensor([1., 3., 3., 5.]), tensor([3., 6., 0.]), side='right'
tensor([1., 3., 3., 5.]), tensor([3., 6., 0.]), side='left'
tensor([5., 1., 3.]), tensor([3., 6., 0.]), sorter=tensor([1, 2, 0])
tensor([[1., 3., 5.], [2., 4., 6.]]), tensor([[3., 6.], [1., 4.]]), out_int32=True
tensor([1., 3., 5.]), tensor(3.)
tensor([[1., 2.], [3., 4.], [5., 6.]]).T, tensor([[3.], [4.]])
tensor([1., 3., 5.]), t(2, 1).expand(2, 3)
t(0), t(3)
t(), t(2) ! dimension
tensor([1., 3.]), t(2), right=True, side='left' ! opposites
tensor([1., 3.]), t(2), side='top' ! side
tensor([1., 3.]), t(2), sorter=tensor([0]) ! sorter)",
        .out = true},
    {.schema = "searchsorted.number(Tensor sorted_sequence, Scalar values, *, bool out_int32=False, bool right=False, str? side=None, "
               "Tensor? sorter=None) -> Tensor",
        .doc = "Finds the index at which a number would be inserted into a sorted 1-d tensor to keep it sorted.",
        .torch = "torch.searchsorted",
        .example = "pyburn.searchsorted(pyburn.tensor([1., 3., 5.]), 3)",
        .samples = R"(
tensor([1., 3., 5.]), 3
tensor([1., 3., 5.]), 3.5, out_int32=True
tensor([1, 3, 5]), 3, right=True
tensor([1., 3., 3., 5.]), 3, side='right'
tensor([5., 1., 3.]), 3, sorter=tensor([1, 2, 0])
t(0), 1
tensor([1., 2., 3., 4.])[::2], 3
t(1).expand(3), 1
t(), 3 ! dimension
t(2, 2), 3 ! expected a tensor)",
        .out = true},
    {.schema = "bucketize(Tensor input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
        .doc = "Returns the index of the bucket between the sorted boundaries that each element belongs to.",
        .example = "pyburn.bucketize(pyburn.tensor([3., 6.]), pyburn.tensor([1., 3., 5.]))",
        .samples = R"(
tensor([[3., 6., 0.], [1., 4., 5.]]), tensor([1., 3., 5.])
tensor([3., 6., 0.]), tensor([1., 3., 5.]), right=True
tensor([3., 6., 0.]), tensor([1., 3., 5.]), out_int32=True
tensor(3), tensor([1, 3, 5])
t(0), tensor([1., 3., 5.])
t(3, 2).T, tensor([0., 0.5, 1.])
t(2, 1).expand(2, 3), tensor([0., 0.5, 1.])
t(2), t(2, 2) ! one dimension)",
        .out = true},
    {.schema = "isin(Tensor|Scalar elements, Tensor|Scalar test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
        .doc = "Tests element-wise whether elements occur in test_elements (or do not, with invert=True).",
        .example = "pyburn.isin(pyburn.tensor([1, 2, 3]), pyburn.tensor([2, 4]))",
        .samples = R"(
tensor([[1, 2], [3, 4]]), tensor([2, 3])
tensor([1., 2., 3.]), tensor([2., 5.]), invert=True
tensor([1., 2., 3.]), tensor([2., 5.]), assume_unique=True
tensor(2.), tensor([2., 5.])
t(0), t(3)
t(3), t(0)
tensor([[1, 2], [3, 4]]).T, tensor([[2], [3]])
tensor([1, 2, 3]), 2
2, tensor([1, 2, 3])
t(2, 1, dtype=i64).expand(2, 3), tensor([1, 2])
1, 2 ! Tensor)",
        .out = true},
    {.schema = "quantile(Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
        .doc = "Computes the q-th quantile of the elements along dim (of all elements by default). NaN propagates.",
        .example = "pyburn.quantile(pyburn.tensor([1., 2., 3.]), 0.5)",
        .samples = kQuantiles,
        .out = true},
    {.schema = "quantile.each(Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
        .doc = "Computes several quantiles along dim; the first dimension of the result holds the quantiles.",
        .example = "pyburn.quantile(pyburn.tensor([1., 2., 3.]), pyburn.tensor([0., 1.]))",
        .samples = kManyQuantiles,
        .out = true},
    {.schema = "nanquantile(Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
        .doc = "Computes the q-th quantile of the elements along dim, ignoring NaN.",
        .example = "pyburn.nanquantile(pyburn.tensor([1., float('nan'), 3.]), 0.5)",
        .samples = kQuantiles,
        .out = true},
    {.schema = "nanquantile.each(Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
        .doc = "Computes several quantiles along dim, ignoring NaN; the first dimension of the result holds the quantiles.",
        .example = "pyburn.nanquantile(pyburn.tensor([1., float('nan'), 3.]), pyburn.tensor([0., 1.]))",
        .samples = kManyQuantiles,
        .out = true},
};

// Quantiles for shares q (one axis, or none) of x; `keep_axis` where q has one.
TensorHandle quantiles(const TensorHandle& input, const TensorHandle& q, std::optional<int64_t> dim, bool keepdim,
    const std::string& interpolation, bool ignore_nan) {
  require<DTypeError>(is_floating(input.dtype()), "expected a floating dtype: got {}", input.dtype());
  require(q.rank() <= 1, "expected q with at most one dimension: got {}", q.shape());
  const bool known = interpolation == "linear" || interpolation == "lower" || interpolation == "higher" || interpolation == "midpoint" ||
                     interpolation == "nearest";
  require<ValueError>(known, "interpolation is 'linear', 'lower', 'higher', 'midpoint' or 'nearest': got '{}'", interpolation);
  const int axis = dim ? normalise_dim(*dim, input.rank()) : 0;
  // The axis last; results get it back with extent 1.
  const TensorHandle x = !dim || input.rank() == 0 ? reshape(input, Dims{-1}) : transpose(input, axis, input.rank() - 1);
  const int last = x.rank() - 1;
  const int64_t n = x.shape()[last];
  require<ValueError>(input.numel() > 0, "expected elements: got {}", input.shape());
  const TensorHandle sorted = sort(x, last)[0], number = eq(x, x);
  const TensorHandle shares = cast(q.rank() ? q : unsqueeze(q, 0), x.dtype());
  // Ranks among the numbers; where a NaN counts, it is the last.
  const TensorHandle numbers = sum(number, Dims{last}, true);
  const TensorHandle top = cast(maximum(numbers - 1, 0), x.dtype());
  const TensorHandle rank = ignore_nan ? top * shares : where(lt(numbers, n), double(n - 1), top * shares);
  const TensorHandle lower = cast(rank, DType::int64);
  const TensorHandle upper = where(lt(cast(lower, x.dtype()), rank), lower + 1, lower);
  const TensorHandle part = rank - cast(lower, x.dtype());
  TensorHandle y;
  if (interpolation == "lower") y = gather(sorted, last, lower);
  else if (interpolation == "higher") y = gather(sorted, last, upper);
  else if (interpolation == "nearest") {  // ties to the even rank
    const TensorHandle even = eq(cast(cast(lower, x.dtype()) * 0.5, DType::int64) * 2, lower);
    y = gather(sorted, last, where(eq(part, 0.5), where(even, lower, upper), where(lt(part, 0.5), lower, upper)));
  } else {
    const TensorHandle a = gather(sorted, last, lower), b = gather(sorted, last, upper);
    y = interpolation == "midpoint" ? a + (b - a) * 0.5 : a + (b - a) * part;
  }
  // The axis of shares to the front.
  Dims order{last};
  for (int i = 0; i < last; ++i) order.push_back(i);
  y = permute(y, order);
  if (dim && input.rank() > 0) {  // the requested dimension is now the last dimension of input
    Dims back{0};
    Dims rest;
    for (int i = 0; i < last; ++i) rest.push_back(i + 1);
    if (axis != last) {
      const int64_t moved = rest[axis];
      rest.erase(axis);
      rest.push_back(moved);
    }
    back.append(rest.begin(), rest.end());
    y = permute(y, back);
    if (keepdim) y = unsqueeze(y, axis + 1);
  } else if (keepdim) {
    Dims size(input.rank() + 1, 1);
    size[0] = y.shape()[0];
    y = reshape(y, size);
  }
  return q.rank() ? y : select(y, 0, 0);
}
TensorHandle share(const TensorHandle& input, double q) {
  require<ValueError>(q >= 0 && q <= 1, "expected q between 0 and 1: got {}", q);
  return full(Dims{}, q, is_floating(input.dtype()) ? input.dtype() : default_dtype(), &input.device());
}
}  // namespace

TensorHandle fn::searchsorted(const TensorHandle& sorted_sequence, const TensorHandle& values, bool out_int32, bool right,
    const std::optional<std::string>& side, const TensorHandle& sorter) {
  require<ValueError>(!side || *side == "left" || *side == "right", "side is 'left' or 'right': got '{}'", side.value_or(""));
  require<ValueError>(
      !side || !right || *side == "right", "side and right can't be set to opposites: got '{}' with right", side.value_or(""));
  TensorHandle sequence = sorted_sequence;
  if (sorter.defined()) {
    require(
        sorter.shape() == sequence.shape(), "sorter must have the shape of the sequence: got {} for {}", sorter.shape(), sequence.shape());
    sequence = gather(sequence, -1, sorter);
  }
  InputList in;
  in.add(sequence);
  in.add(values);
  return call(op::searchsorted, SearchSorted::from(sequence, values, out_int32, right || side == "right"), in);
}
TensorHandle fn::searchsorted(const TensorHandle& sorted_sequence, const Scalar& values, bool out_int32, bool right,
    const std::optional<std::string>& side, const TensorHandle& sorter) {
  require(sorted_sequence.rank() <= 1, "expected a tensor of values for sequences of shape {}", sorted_sequence.shape());
  return searchsorted(sorted_sequence, full(Dims{}, values, {}, &sorted_sequence.device()), out_int32, right, side, sorter);
}
TensorHandle fn::bucketize(const TensorHandle& input, const TensorHandle& boundaries, bool out_int32, bool right) {
  require(boundaries.rank() == 1, "expected boundaries with one dimension: got {}", boundaries.shape());
  return searchsorted(boundaries, input, out_int32, right);
}
TensorHandle fn::isin(const Operand& one, const Operand& other, bool, bool invert) {
  require<DTypeError>(one.is_tensor() || other.is_tensor(), "at least one of elements and test_elements must be a Tensor: got two numbers");
  const auto as_tensor = [](const Operand& x, const Operand& beside) {
    return x.is_tensor() ? TensorHandle(x.tensor()) : full(Dims{}, x.value(), std::nullopt, &beside.tensor().device());
  };
  const TensorHandle elements = as_tensor(one, other), test_elements = as_tensor(other, one);
  if (test_elements.numel() == 0) return full(elements.shape(), invert, DType::boolean, &elements.device());
  const TensorHandle sorted = sort(reshape(detach(test_elements), Dims{-1}), 0)[0], flat = reshape(detach(elements), Dims{-1});
  const TensorHandle place = minimum(searchsorted(sorted, flat), sorted.numel() - 1);
  const TensorHandle found = index_select(sorted, 0, place);
  return reshape(invert ? ne(found, flat) : eq(found, flat), elements.shape());
}
TensorHandle fn::quantile(const TensorHandle& input, double q, std::optional<int64_t> dim, bool keepdim, const std::string& interpolation) {
  return quantiles(input, share(input, q), dim, keepdim, interpolation, false);
}
TensorHandle fn::quantile(
    const TensorHandle& input, const TensorHandle& q, std::optional<int64_t> dim, bool keepdim, const std::string& interpolation) {
  return quantiles(input, q, dim, keepdim, interpolation, false);
}
TensorHandle fn::nanquantile(
    const TensorHandle& input, double q, std::optional<int64_t> dim, bool keepdim, const std::string& interpolation) {
  return quantiles(input, share(input, q), dim, keepdim, interpolation, true);
}
TensorHandle fn::nanquantile(
    const TensorHandle& input, const TensorHandle& q, std::optional<int64_t> dim, bool keepdim, const std::string& interpolation) {
  return quantiles(input, q, dim, keepdim, interpolation, true);
}

void register_search(OpTable& table) {
  table.add({&op::searchsorted, &op::histc, &op::bincount, &op::distinct});
  table.add(functions);
}

}  // namespace pyburn
