// Elements that are chosen by index, or by value.
#include <algorithm>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/index_tensors.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/search.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Indices as int64, counted from the start: a negative one counts from the end of the axis.
TensorHandle indices_of(Call& c, int i, int64_t size) {
  const TensorHandle given = c.input(i);
  const TensorHandle index = given.dtype() == DType::int64 ? given : fn::cast(given, DType::int64);
  return fn::where(fn::lt(index, 0), fn::add(index, size), index);
}

Results gather(Call& c) {
  const int64_t given = c.integer("axis", 0);
  const TensorHandle x = c.input(0);
  const int axis = normalise_dim(given, x.rank());
  const Value& index = c.value(1);
  if (index.is_tensor() && index.is_on_host() && index.tensor().rank() == 0) return fn::select(x, axis, c.read_integer(1));
  return fn::_index(x, {c.input(1).dtype() == DType::int64 ? c.input(1) : fn::cast(c.input(1), DType::int64)}, axis);
}

Results gather_elements(Call& c) {
  const TensorHandle x = c.input(0);
  const int axis = normalise_dim(c.integer("axis", 0), x.rank());
  return fn::gather(x, axis, indices_of(c, 1, x.shape()[axis]));
}

// The columns of the last axis of the indices: one tensor for each axis of x that is indexed.
Tensors index_columns(Call& c, int i) {
  const TensorHandle index = fn::cast(c.input(i), DType::int64);
  Tensors columns;
  for (int64_t k = 0; k < index.shape()[index.rank() - 1]; ++k) columns.push_back(fn::select(index, -1, k));
  return columns;
}
// The places of the batch, broadcast against columns of rank `rank`.
void add_batch_columns(Tensors& columns, const Shape& batch, int rank, Device& device) {
  for (int axis = 0; axis < batch.rank(); ++axis) {
    Dims shape(rank, 1);
    shape[axis] = batch[axis];
    columns.insert(axis, fn::reshape(fn::arange({}, batch[axis], 1, DType::int64, &device), shape));
  }
}

Results gather_nd(Call& c) {
  const TensorHandle x = c.input(0);
  const int64_t batch_dims = c.integer("batch_dims", 0);
  const Shape& index_shape = c.value(1).tensor().shape();
  require(index_shape.rank() >= 1 && batch_dims >= 0 && batch_dims < index_shape.rank() && batch_dims < x.rank() &&
              batch_dims + index_shape.back() <= x.rank(),
      "[gather_nd] indices {} do not fit {} with {} batch dimensions", index_shape, x.shape(), batch_dims);
  Tensors columns = index_columns(c, 1);
  Shape batch;
  for (int64_t i = 0; i < batch_dims; ++i) batch.push_back(x.shape()[i]);
  add_batch_columns(columns, batch, index_shape.rank() - 1, x.device());
  return columns.empty() ? x : fn::_index(x, columns, 0);
}

const char* reduction_name(const std::string& reduction) {
  if (reduction == "add") return "sum";
  if (reduction == "mul") return "prod";
  if (reduction == "max") return "amax";
  if (reduction == "min") return "amin";
  fail<FormatError>("[onnx] no such reduction: got '{}'", reduction);
}

Results scatter_elements(Call& c) {
  const TensorHandle x = c.input(0), updates = c.input(2);
  const int axis = normalise_dim(c.integer("axis", 0), x.rank());
  const TensorHandle index = indices_of(c, 1, x.shape()[axis]);
  const std::string reduction = c.text("reduction", "none");
  return reduction == "none" ? fn::scatter(x, axis, index, updates)
                             : fn::scatter_reduce(x, axis, index, updates, reduction_name(reduction));
}

// Whole slices of x, which is seen as a list of them. Equal indices are combined by the reduction.
Results scatter_nd(Call& c) {
  const TensorHandle x = c.input(0), updates = c.input(2);
  const std::string reduction = c.text("reduction", "none");
  const Shape& index_shape = c.value(1).tensor().shape();
  require(index_shape.rank() >= 1 && index_shape.back() <= x.rank(), "[scatter_nd] indices {} do not fit {}", index_shape, x.shape());
  const Tensors columns = index_columns(c, 1);
  if (reduction == "none" || reduction == "add") return fn::index_put(x, columns, updates, reduction == "add");
  const int64_t depth = columns.size();
  Dims slice{-1};
  int64_t slices = 1, elements = 1;
  for (int i = 0; i < x.rank(); ++i)
    if (i < depth) slices *= x.shape()[i];
    else slice.push_back(x.shape()[i]), elements *= x.shape()[i];
  TensorHandle flat = fn::zeros({1}, DType::int64, &x.device());
  for (int64_t k = 0; k < depth; ++k) {
    const TensorHandle column = fn::where(fn::lt(columns[k], 0), fn::add(columns[k], x.shape()[int(k)]), columns[k]);
    flat = fn::add(fn::mul(flat, x.shape()[int(k)]), fn::reshape(column, {-1}));
  }
  const TensorHandle index = fn::expand(fn::unsqueeze(flat, 1), {flat.shape()[0], elements});
  const TensorHandle result = fn::scatter_reduce(
      fn::reshape(x, {slices, elements}), 0, index, fn::reshape(updates, {flat.shape()[0], elements}), reduction_name(reduction));
  return fn::reshape(result, x.shape());
}

Results one_hot(Call& c) {
  const TensorHandle values = c.input(2);
  const int64_t depth = c.read_integer(1);
  require<ValueError>(depth >= 0 && depth <= int64_t(1) << 32, "[one_hot] bad depth: got {}", depth);
  TensorHandle index = fn::cast(c.input(0), DType::int64);
  index = fn::where(fn::lt(index, 0), fn::add(index, depth), index);
  const int rank = index.rank() + 1, axis = normalise_dim(c.integer("axis", -1), rank);
  Dims shape(rank, 1);
  shape[axis] = depth;
  const TensorHandle places = fn::reshape(fn::arange({}, depth, 1, DType::int64, &index.device()), shape);
  const TensorHandle hot = fn::eq(fn::unsqueeze(index, axis), places);
  return fn::where(hot, fn::select(values, 0, 1), fn::select(values, 0, 0));
}

Results nonzero(Call& c) {
  const TensorHandle x = c.input(0);
  return x.rank() == 0 ? fn::transpose(fn::nonzero(fn::reshape(x, {1})), 0, 1) : fn::transpose(fn::nonzero(x), 0, 1);
}

// The condition may be shorter than the axis.
Results compress(Call& c) {
  TensorHandle x = c.input(0);
  int axis = 0;
  if (c.has("axis")) axis = normalise_dim(c.integer("axis"), x.rank());
  else x = fn::reshape(x, {-1});
  const TensorHandle index = fn::reshape(fn::nonzero(c.input(1)), {-1});
  return fn::index_select(x, axis, index);
}

Results top_k(Call& c) {
  const TensorHandle x = c.input(0);
  const int axis = normalise_dim(c.integer("axis", -1), x.rank());
  const int64_t k = c.has_input(1) ? c.read_integer(1) : c.integer("k");
  require<ValueError>(k >= 0 && k <= x.shape()[axis], "[topk] k is out of range: got {} for {}", k, x.shape());
  const bool largest = c.flag("largest", true);
  const Handles<2> sorted = fn::sort(x, axis, largest, true);  // equal elements: the first one first
  return {fn::narrow(sorted[0], axis, 0, k), fn::narrow(sorted[1], axis, 0, k)};
}

Results unique(Call& c) {
  TensorHandle x = c.input(0);
  int64_t axis = 0;
  if (c.has("axis")) axis = normalise_dim(c.integer("axis"), x.rank());
  else x = fn::reshape(x, {-1});
  const Handles<3> found = fn::distinct(x, axis);
  TensorHandle values = found[0], inverse = fn::reshape(found[1], {-1}), counts = found[2];
  const int64_t groups = counts.shape()[0], n = inverse.shape()[0];
  // Where each value comes first.
  const TensorHandle places = fn::arange({}, n, 1, DType::int64, &x.device());
  TensorHandle first = fn::scatter_reduce(fn::full({groups}, Scalar(n), DType::int64, &x.device()), 0, inverse, places, "amin");
  if (!c.flag("sorted", true)) {
    const TensorHandle order = fn::argsort(first), rank = fn::argsort(order);
    values = fn::index_select(values, axis, order), first = fn::index_select(first, 0, order), counts = fn::index_select(counts, 0, order);
    inverse = fn::index_select(rank, 0, inverse);
  }
  return {values, first, inverse, counts};
}

Results reverse_sequence(Call& c) {
  const TensorHandle x = c.input(0);
  const int64_t time = c.integer("time_axis", 0), batch = c.integer("batch_axis", 1);
  require<ValueError>(x.rank() >= 2 && time + batch == 1 && (time == 0 || time == 1),
      "[reverse_sequence] time_axis and batch_axis must be 0 and 1: got {} and {}", time, batch);
  const int64_t n = x.shape()[int(time)];
  Dims along_time(x.rank(), 1), along_batch(x.rank(), 1);
  along_time[time] = n, along_batch[batch] = x.shape()[int(batch)];
  const TensorHandle lengths = fn::reshape(fn::cast(c.input(1), DType::int64), along_batch);
  const TensorHandle places = fn::reshape(fn::arange({}, n, 1, DType::int64, &x.device()), along_time);
  const TensorHandle index = fn::where(fn::lt(places, lengths), fn::sub(fn::sub(lengths, 1), places), places);
  return fn::gather(x, time, fn::expand(index, x.shape()));
}

constexpr Operator kRows[] = {
    {"", "Gather", 1, gather},
    {"", "GatherElements", 11, gather_elements},
    {"", "GatherND", 11, gather_nd},
    {"", "Scatter", 9, scatter_elements},
    {"", "ScatterElements", 11, scatter_elements},
    {"", "ScatterND", 11, scatter_nd},
    {"", "OneHot", 9, one_hot, inputs_at(1)},
    {"", "NonZero", 9, nonzero},
    {"", "Compress", 9, compress},
    {"", "TopK", 1, top_k, inputs_at(1)},
    {"", "Unique", 11, unique},
    {"", "ReverseSequence", 10, reverse_sequence},
};

}  // namespace

std::span<const Operator> gather_operators() { return kRows; }

}  // namespace pyburn::onnx
