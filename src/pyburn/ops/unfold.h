// Patches of an image as columns of a matrix (im2col).
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Unfold {
  Dims output_size;  // col2im: the size of the image; else empty
  Dims kernel_size, dilation, padding, stride;
  PB_FIELDS(output_size, kernel_size, dilation, padding, stride)

  Dims grid(const Dims& image) const;  // number of patches: rows and columns
  static Unfold from(const TensorHandle&, const Dims& kernel_size, const Dims& dilation, const Dims& padding, const Dims& stride);
  static Unfold from(
      const TensorHandle&, const Dims& output_size, const Dims& kernel_size, const Dims& dilation, const Dims& padding, const Dims& stride);
};

namespace op {
extern OpInfo im2col, col2im;
}

}  // namespace pyburn
