// Indexing by tensors of integers, x[rows, :, columns], put together from index_select and where.
#pragma once
#include <span>

#include "pyburn/ops/tensor.h"

namespace pyburn {

struct AxisIndex {
  int axis;
  TensorHandle index;  // integers; negative ones count from the end
};

// The indices broadcast against each other. Their axes take the place of the axes that they index; in front, when
// these do not stand side by side. `at` is in order of axes and not empty.
Tensor take(const TensorHandle& x, std::span<const AxisIndex> at);
// Overwrites what take() would give with `value`, which is broadcast and converted. Of repeated indices the last wins.
void put(const TensorHandle& x, std::span<const AxisIndex> at, const TensorHandle& value);
// A mask over the axes from `axis` on, as indices: one per axis of the mask.
SmallVector<AxisIndex, 4> mask_indices(const TensorHandle& x, int axis, const TensorHandle& mask);

}  // namespace pyburn
