// Windows of convolutions and pools: sizes, strides and borders as ONNX writes them.
#pragma once
#include "pyburn/onnx/call.h"

namespace pyburn::onnx {

struct Windows {
  int axes = 0;  // spatial ones: those after (N, C)
  Dims kernel, stride, dilation, before, after;

  // The attributes of the call for x (N, C, ...); auto_pad as it asks for. `kernel`: from the weight, where the attribute is missing.
  static Windows of(Call& c, const Shape& x, const Dims& kernel = {});
  bool is_symmetric() const { return before == after; }
  bool is_unpadded() const;
  int64_t reach(int axis) const;  // of the kernel with its dilation
  int64_t outputs(
      int axis, int64_t size, bool ceil_mode) const;  // windows along the axis; the last one begins inside of the input or its border
  // The border as constant_pad_nd takes it.
  Dims border() const;
};

// Pools with the attributes of a call, for operators that prepare x (N, C, ...) themselves.
TensorHandle averages(Call& c, const TensorHandle& x);
TensorHandle maxima(Call& c, const TensorHandle& x);
TensorHandle global_averages(const TensorHandle& x);

}  // namespace pyburn::onnx
