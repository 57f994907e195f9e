// Convolution and its two gradients: three operations that are derivatives of each other.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// Spatial attributes have one entry per spatial axis: two for conv2d, three for conv3d.
struct Conv {
  Dims stride, padding, dilation;
  int64_t groups = 1;
  PB_FIELDS(stride, padding, dilation, groups)
  static Conv from(const TensorHandle& x, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride, const Dims& padding,
      const Dims& dilation, int64_t groups);
};
// A gradient of a convolution: `shape` is that of the input or the weight.
struct ConvGrad {
  Shape shape;
  Dims stride, padding, dilation;
  int64_t groups = 1;
  PB_FIELDS(shape, stride, padding, dilation, groups)
  static ConvGrad from(const TensorHandle&, const TensorHandle&, const Dims& shape, const Dims& stride, const Dims& padding,
      const Dims& dilation, int64_t groups) {
    return {shape, stride, padding, dilation, groups};
  }
};

namespace op {
extern OpInfo conv2d, conv2d_input, conv2d_weight, conv3d, conv3d_input, conv3d_weight;
}

}  // namespace pyburn
