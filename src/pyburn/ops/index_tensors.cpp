#include "pyburn/ops/index_tensors.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/functions.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

std::vector<int64_t> read_integers(const TensorHandle& index) {
  std::vector<int64_t> values(size_t(index.numel()));
  to_host(index, {values.data(), index.meta()});
  return values;
}

// x with the indexed axes as one axis, and the one index into it.
struct Gathered {
  Dims order;    // of the axes of x, so that the indexed ones stand side by side
  int axis;      // where they stand then
  Shape shape;   // of x in that order
  Tensor flat;   // x in that order, the indexed axes as one
  Tensor index;  // into that axis; one axis
  Shape result;  // of take()
};

Tensor counted_from_start(const TensorHandle& index, int64_t extent) {
  const Tensor wide = index.dtype() == DType::int64 ? Tensor(index) : cast(index, DType::int64);
  return where(lt(wide, 0), add(wide, extent), wide);
}

void check_bounds(const TensorHandle& index, int axis, int64_t extent) {
  for (int64_t i : read_integers(index))
    require<IndexError>(
        i >= 0 && i < extent, "index {} is out of bounds for dimension {} with size {}", i < 0 ? i - extent : i, axis, extent);
}

Gathered gather_axes(const TensorHandle& x, std::span<const AxisIndex> at) {
  Gathered g;
  const int count = int(at.size());
  bool side_by_side = true;
  Shape common;
  for (int k = 0; k < count; ++k) {
    require<DTypeError>(is_integral(at[size_t(k)].index.dtype()) && at[size_t(k)].index.dtype() != DType::boolean,
        "tensors used as indices must be of an integer dtype or bool: got {}", at[size_t(k)].index.dtype());
    side_by_side &= at[size_t(k)].axis == at[0].axis + k;
    common = broadcast_shapes(common, at[size_t(k)].index.shape());
  }
  g.axis = side_by_side ? at[0].axis : 0;
  if (!side_by_side)
    for (const AxisIndex& a : at) g.order.push_back(a.axis);
  for (int i = 0; i < x.rank(); ++i) {
    bool taken = false;
    for (const AxisIndex& a : at) taken |= !side_by_side && a.axis == i;
    if (!taken) g.order.push_back(i);
  }
  for (int64_t i : g.order) g.shape.push_back(x.shape()[i]);

  Tensor linear;
  int64_t extent = 1;
  for (int k = 0; k < count; ++k) {
    const int64_t n = g.shape[g.axis + k];
    const Tensor index = counted_from_start(at[size_t(k)].index, n);
    if (count > 1) check_bounds(index, at[size_t(k)].axis, n);  // index_select sees the sum only
    linear = k == 0 ? index : add(mul(linear, n), index);
    extent *= n;
  }
  g.index = reshape(expand(linear, common), Dims{common.numel()});

  Shape flat, result;
  for (int i = 0; i < g.shape.rank(); ++i) {
    if (i == g.axis) {
      flat.push_back(extent);
      result.append(common.begin(), common.end());
    }
    if (i >= g.axis && i < g.axis + count) continue;
    flat.push_back(g.shape[i]);
    result.push_back(g.shape[i]);
  }
  g.flat = side_by_side ? Tensor(x) : permute(x, g.order);
  if (count > 1) g.flat = reshape(g.flat, flat);
  g.result = result;
  return g;
}

}  // namespace

Tensor take(const TensorHandle& x, std::span<const AxisIndex> at) {
  const Gathered g = gather_axes(x, at);
  const Tensor taken = index_select(g.flat, g.axis, g.index);
  return taken.shape() == g.result ? taken : reshape(taken, g.result);
}

void put(const TensorHandle& x, std::span<const AxisIndex> at, const TensorHandle& value) {
  const Gathered g = gather_axes(x, at);
  const int64_t extent = g.flat.shape()[g.axis];
  check_bounds(g.index, at[0].axis, extent);
  // Where each place of the axis gets its new value from; places that keep their value take the first, unseen.
  const std::vector<int64_t> targets = read_integers(g.index);
  if (targets.empty()) return;
  std::vector<int64_t> source(size_t(extent), 0);
  std::vector<uint8_t> written(size_t(extent), 0);
  for (size_t i = 0; i < targets.size(); ++i) {
    source[size_t(targets[i])] = int64_t(i);
    written[size_t(targets[i])] = 1;
  }
  const Tensor from = from_host(x.device(), {source.data(), {Shape{extent}, DType::int64}});
  Shape mask_shape(Dims(g.flat.rank(), 1));
  mask_shape[g.axis] = extent;
  const Tensor mask = from_host(x.device(), {written.data(), {mask_shape, DType::boolean}});

  Shape rows = g.flat.shape();
  rows[g.axis] = int64_t(targets.size());
  Tensor fitted = value.dtype() == x.dtype() ? Tensor(value) : cast(value, x.dtype());
  fitted = reshape(expand(fitted, g.result), rows);
  const Tensor updated = reshape(where(mask, index_select(fitted, g.axis, from), g.flat), g.shape);
  Dims back(g.order.size(), 0);
  for (int64_t i = 0; i < g.order.size(); ++i) back[g.order[i]] = i;
  copy_into(x, permute(updated, back));
}

SmallVector<AxisIndex, 4> mask_indices(const TensorHandle& x, int axis, const TensorHandle& mask) {
  for (int i = 0; i < mask.rank(); ++i)
    require<IndexError>(axis + i < x.rank() && mask.shape()[i] == x.shape()[axis + i],
        "the shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}", mask.shape(), i, x.shape(),
        axis + i);
  const Tensor places = nonzero(mask);
  SmallVector<AxisIndex, 4> result;
  for (int i = 0; i < mask.rank(); ++i) result.push_back({axis + i, select(places, 1, i)});
  return result;
}

}  // namespace pyburn
