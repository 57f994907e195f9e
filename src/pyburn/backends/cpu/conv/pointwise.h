// Convolution with a kernel of one tap and no padding: one matrix product over the pixels of all images. Steps are taken while pixels are
// packed, and spread while results are written.
#pragma once
#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/geometry.h"

namespace pyburn::cpu {

// y from x; w is (groups, outputs, channels), bias may be null. Tensors are plain.
void convolve_pointwise(const ConvGeometry& g, const float* x, const float* w, const float* bias, float* y, ImageFinish finish);
// dx from dy; w is (groups, channels, outputs): transposed. Where there are steps, nothing can be finished.
void convolve_pointwise_input(const ConvGeometry& g, const float* dy, const float* w, float* dx, ImageFinish finish);

}  // namespace pyburn::cpu
