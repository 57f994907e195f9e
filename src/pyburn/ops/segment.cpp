// Reductions over consecutive parts of an axis.
#include "pyburn/ops/segment.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/segment.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {

namespace {
constexpr const char* kNames[] = {"sum", "prod", "mean", "max", "min"};  // in the order of Reduction
}

Segments Segments::from(const TensorHandle&, const TensorHandle&, const std::string& reduce, const std::optional<Scalar>& initial) {
  for (int i = 0; i < 5; ++i)
    if (reduce == kNames[i]) return {Reduction(i), initial};
  fail<ValueError>("reduce is 'sum', 'prod', 'mean', 'max' or 'min': got '{}'", reduce);
}

namespace {

Meta infer(const Segments& a, Metas in) {
  require<ValueError>(a.reduce <= Reduction::amin, "unknown reduction: got {}", int64_t(a.reduce));
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  require<DTypeError>(in[1].dtype == DType::int64 || in[1].dtype == DType::int32, "expected int32 or int64 lengths: got {}", in[1].dtype);
  require(in[0].shape.rank() >= 1, "expected data of at least one dimension: got rank 0");
  require(in[1].shape.rank() == 1, "expected lengths of one dimension: got {}", in[1].shape);
  Shape shape = in[0].shape;
  shape[0] = in[1].shape[0];
  checked_numel(shape);
  return {shape, in[0].dtype};
}

// `of` says for each row of the data which segment it is in.
struct SegmentGradient {
  const TensorHandle &dy, x, y, of;

  TensorHandle spread(const TensorHandle& t) const { return index_select(t, 0, of); }
  TensorHandle number(const TensorHandle& truth) const { return cast(truth, dy.dtype()); }
  TensorHandle count(const TensorHandle& hits) const { return index_add(zeros_like(y), 0, of, hits); }

  TensorHandle extremum() const {  // equal elements share the gradient
    const TensorHandle hits = number(logical_or(eq(x, spread(y)), isnan(x)));
    return hits * spread(dy / maximum(count(hits), 1));
  }
  TensorHandle prod(
      const TensorHandle& lengths, const Segments& a) const {  // the only 0 or NaN of a segment gets the product of the others
    const TensorHandle zero = logical_or(eq(x, 0), isnan(x)), alone = ne(number(zero) * number(eq(spread(count(number(zero))), 1)), 0);
    const TensorHandle without = _segment_reduce(where(alone, 1.0, x), lengths, "prod", a.initial);
    return where(alone, spread(dy * without), spread(dy * y) / where(zero, 1.0, x));
  }
};
Grads grad(const Segments& a, const GradContext& c) {
  const TensorHandle lengths = c.input(1), of = repeat_interleave(lengths, std::optional<int64_t>());
  if (a.reduce == Reduction::sum) return {index_select(c.dy(), 0, of)};
  if (a.reduce == Reduction::mean) {
    Dims along(c.dy().rank(), 1);
    along[0] = lengths.numel();
    return {index_select(c.dy() / cast(maximum(reshape(lengths, along), 1), c.dy().dtype()), 0, of)};
  }
  const SegmentGradient g{c.dy(), c.input(0), c.output(), of};
  return {a.reduce == Reduction::prod ? g.prod(lengths, a) : g.extremum()};
}

}  // namespace

namespace op {
constinit OpInfo _segment_reduce =
    define<Segments, infer, grad>({.schema = "_segment_reduce(Tensor input, Tensor lengths, str reduce, Scalar? initial=None) -> Tensor",
        .doc = "Reduces consecutive segments of input along dimension 0.",
        .saves = inputs | outputs,
        .torch = "lambda x, lengths, reduce, initial=None: torch.segment_reduce(x, reduce, lengths=lengths, initial=initial, unsafe=True)",
        .example = "pyburn.segment_reduce(pyburn.ones(5), 'sum', lengths=pyburn.tensor([2, 3]))",
        .samples = R"(
t(5), tensor([2, 3]), 'sum'
t(5), tensor([2, 0, 3]), 'mean', 0.0
t(5), tensor([2, 3]), 'mean'
t(5), tensor([2, 3]), 'max'
t(5), tensor([1, 4]), 'min'
t(5), tensor([1, 0, 4]), 'prod'
t(5, 2), tensor([2, 0, 3]), 'sum', initial=1.5
t(5, 2), tensor([2, 0, 3]), 'max', initial=0.5
t(2, 5).T, tensor([2, 3]), 'max'
t(1, 2).expand(5, 2), tensor([2, 3]), 'prod'
t(0, 2), tensor([0, 0]), 'sum'
t(5, dtype=f64), tensor([2, 3]), 'mean'
t(5), tensor([2, 2]), 'sum' ! lengths
t(5), tensor([6, -1]), 'sum' ! lengths
t(), tensor([1]), 'sum' ! dimension
t(5, dtype=i64), tensor([5]), 'sum' ! floating
t(5), tensor([5]), 'median' ! reduce)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, "
               "bool unsafe=False, Scalar? initial=None) -> Tensor",
        .doc = "Reduces consecutive segments of data along axis with 'sum', 'prod', 'mean', 'max' or 'min'; the segments are given by "
               "lengths or offsets.",
        .example = "pyburn.segment_reduce(pyburn.ones(5), 'sum', lengths=pyburn.tensor([2, 3]))",
        .samples = R"(
t(5), 'sum', lengths=tensor([2, 3])
t(5), 'mean', lengths=tensor([2, 3]), unsafe=True
t(5), 'max', offsets=tensor([0, 2, 5]), axis=-1
t(5, 2), 'sum', lengths=tensor([2, 0, 3]), initial=1.5
t(2, 5).T, 'min', lengths=tensor([2, 3])
t(1, 2).expand(5, 2), 'prod', lengths=tensor([2, 3])
t(0, 2), 'sum', lengths=tensor([0, 0])
t(5), 'sum', lengths=tensor([1, 2]), unsafe=True
t(2, 5), 'max', lengths=tensor([[2, 3], [4, 1]]), axis=1
t(2, 5, 3), 'mean', lengths=tensor([[2, 0, 3], [4, 1, 0]]), axis=1, initial=0.5
t(2, 5), 'prod', offsets=tensor([[0, 2, 5], [0, 1, 4]]), axis=1
t(2, 2, 4, dtype=f64), 'min', lengths=tensor([[[1, 3], [2, 2]], [[3, 1], [2, 2]]]), axis=2
t(), 'sum', lengths=tensor([1]) ! dimension
t(5), 'sum' ! lengths or offsets
t(5, 2), 'sum', lengths=tensor([1, 1]), axis=1 ! dimensions
t(2, 5), 'sum', lengths=tensor([[2, 3], [4, 2]]), axis=1 ! sum to)"},
};
}

namespace {

// Elements before the first segment and behind the last one make segments of their own, whose results are left out.
TensorHandle with_rests(const TensorHandle& lengths, const TensorHandle& start, int64_t extent) {
  const TensorHandle rest = sub(sub(extent, start), sum(lengths, Dims{-1}, true));
  return cat({start, lengths, rest}, -1);
}

}  // namespace

TensorHandle fn::segment_reduce(const TensorHandle& data, const std::string& reduce, const TensorHandle& lengths,
    const TensorHandle& offsets, int64_t axis, bool unsafe, const std::optional<Scalar>& initial) {
  require<ValueError>(lengths.defined() != offsets.defined(), "[segment_reduce] either lengths or offsets must be given");
  require(data.rank() > 0, "[segment_reduce] needs at least one dimension: got rank 0");
  const TensorHandle& given = lengths.defined() ? lengths : offsets;
  const int along = normalise_dim(axis, data.rank());
  require(given.rank() == along + 1, "[segment_reduce] expected {} of {} dimensions for dimension {} of the data: got {}",
      lengths.defined() ? "lengths" : "offsets", along + 1, axis, given.shape());
  for (int i = 0; i < along; ++i)
    require(given.shape()[i] == data.shape()[i], "[segment_reduce] expected the sizes of the data before dimension {}: got {} for {}", axis,
        given.shape(), data.shape());
  const int64_t extent = data.shape()[along];
  TensorHandle parts = lengths;
  if (offsets.defined()) {
    require(offsets.shape().back() > 0, "[segment_reduce] expected at least one offset: got {}", offsets.shape());
    parts = sub(slice(offsets, -1, 1), slice(offsets, -1, 0, -1));
  } else if (!unsafe) {
    require<ValueError>(
        along == 0 || read_number(all(eq(sum(lengths, Dims{-1}), extent))) != 0, "[segment_reduce] lengths must sum to {}", extent);
    if (along == 0) return _segment_reduce(data, lengths, reduce, initial);
  }
  // The axes up to this one become one, with the segments of a row behind those of the row before.
  const TensorHandle first = slice(offsets.defined() ? offsets : lengths, -1, 0, 1);
  const TensorHandle all_parts = with_rests(parts, offsets.defined() ? first : zeros_like(first), extent);
  const int64_t count = parts.shape().back();
  Shape rows = data.shape(), result = data.shape();
  for (int i = 0; i < along; ++i) rows.erase(0);
  rows[0] = all_parts.numel() / (count + 2) * extent;
  result[along] = count + 2;
  const TensorHandle reduced = _segment_reduce(reshape(data, rows), flatten(all_parts), reduce, initial);
  return slice(reshape(reduced, result), along, 1, count + 1);
}

void register_segment(OpTable& table) {
  table.add({&op::_segment_reduce});
  table.add(functions);
}

}  // namespace pyburn
