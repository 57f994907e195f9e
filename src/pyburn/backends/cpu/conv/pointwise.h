// 1x1 convolution without padding: one matrix product over the pixels of all images. Strides are applied when pixels are packed (forward)
// or when results are written (input gradient).
#pragma once
#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/geometry.h"

namespace pyburn::cpu {

// y from x; w is (groups, outputs, channels); bias may be null. Tensors are contiguous.
void convolve_pointwise(const ConvGeometry& g, const float* x, const float* w, const float* bias, float* y, ImageFinish finish);
// dx from dy; w is transposed: (groups, channels, outputs). With a stride, no epilogue can be applied.
void convolve_pointwise_input(const ConvGeometry& g, const float* dy, const float* w, float* dx, ImageFinish finish);

}  // namespace pyburn::cpu
