// Advanced indexing by integer tensors: x[rows, :, columns], reading and writing.
#pragma once
#include <span>

#include "pyburn/runtime/run.h"

namespace pyburn {

// The indices, broadcast together, index consecutive dimensions from `axis` on, which their dimensions replace.
struct IndexTensors {
  int64_t axis = 0;
  bool accumulate = false;
  PB_FIELDS(axis, accumulate)
  static IndexTensors from(const TensorHandle&, const Tensors&, int64_t axis) { return {axis, false}; }
  static IndexTensors from(const TensorHandle&, const TensorHandle&, const Tensors&, int64_t axis, bool accumulate) {
    return {axis, accumulate};
  }
};

namespace op {
extern OpInfo _index, _index_put;
}

// An index for one dimension of a tensor.
struct AxisIndex {
  int axis;
  TensorHandle index;  // integers; negative ones count from the end
};

// The dimensions of the indices replace those that they index; they come first if these are not adjacent. `at` is in order of dimensions
// and not empty.
TensorHandle read_at(const TensorHandle& x, std::span<const AxisIndex> at);
// Assigns `value`, broadcast and converted, to the elements that read_at() returns, or adds it. For repeated indices, the last value is
// stored.
void write_at(const TensorHandle& x, std::span<const AxisIndex> at, const TensorHandle& value, bool accumulate = false);
// IndexError unless the mask has the sizes of x from dimension `axis` on.
void check_mask(const TensorHandle& x, int axis, const TensorHandle& mask);
// A mask over the dimensions from `axis` on, as indices: one per dimension of the mask.
SmallVector<AxisIndex, 4> mask_indices(const TensorHandle& x, int axis, const TensorHandle& mask);

}  // namespace pyburn
