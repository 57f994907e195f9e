// grid_sample composed of public operations: for second derivatives, and for backends without a kernel.
#pragma once
#include "pyburn/ops/grid_sample.h"

namespace pyburn {

// Spatial sizes: of images (N, C, ...), and of a grid (N, ..., 2 or 3).
Dims extents_of(const Shape& images);
Dims places_of(const Shape& grid);
Shape images_of(const Shape& like, const Dims& extents);  // a batch of images with as many channels

// Along one dimension, an element next to a position: its weight, and the derivative of the weight with respect to the grid.
struct GridTap {
  TensorHandle place, inside, share, slope;
};

// The elements around the grid positions, in images of these sizes: all combinations of one element per dimension.
class GridTaps {
 public:
  GridTaps(const GridSample& a, const TensorHandle& grid, const Dims& extents, bool with_slopes = false);

  TensorHandle sample(const TensorHandle& x) const;
  TensorHandle input(const TensorHandle& dy, const Dims& extents) const;   // gradient with respect to the images
  TensorHandle grid(const TensorHandle& dy, const TensorHandle& x) const;  // gradient with respect to the grid; needs slopes

 private:
  int64_t combinations() const;
  const GridTap& tap_of(int64_t combination, int64_t axis) const;
  TensorHandle weight(int64_t combination, int64_t moving) const;
  TensorHandle as_planes(const TensorHandle& x, int64_t size) const;

  Shape grid_;
  int64_t results_ = 1, plane_ = 1;
  SmallVector<SmallVector<GridTap, 4>, 3> taps_;
  TensorHandle places_, weights_;
};

}  // namespace pyburn
