// Indexing by tensors of integers: x[rows, :, columns], and what is written there.
#pragma once
#include <span>

#include "pyburn/runtime/run.h"

namespace pyburn {

// The indices, which broadcast against each other, stand for as many axes from `axis` on; theirs take their place.
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

// An index for one axis of a tensor.
struct AxisIndex {
  int axis;
  TensorHandle index;  // integers; negative ones count from the end
};

// The axes of the indices take the place of those that they index; in front, when these do not stand side by side. `at`
// is in order of axes and not empty.
TensorHandle read_at(const TensorHandle& x, std::span<const AxisIndex> at);
// Overwrites what read_at() would give with `value`, which is broadcast and converted, or adds it. Of repeated indices the
// last wins.
void write_at(const TensorHandle& x, std::span<const AxisIndex> at, const TensorHandle& value, bool accumulate = false);
// IndexError unless a mask over the axes of x from `axis` on fits.
void check_mask(const TensorHandle& x, int axis, const TensorHandle& mask);
// A mask over the axes from `axis` on, as indices: one per axis of the mask.
SmallVector<AxisIndex, 4> mask_indices(const TensorHandle& x, int axis, const TensorHandle& mask);

}  // namespace pyburn
