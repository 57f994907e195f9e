// Depthwise convolution (one kernel per channel), vectorised over columns and reading the image in place. Tensors are contiguous.
#pragma once
#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/plan.h"

namespace pyburn::cpu {

// Computes the result of the plan (forward or input gradient). weight is (channels, height, width); bias may be null.
template <class T>
void convolve_depthwise(const ConvPlan& plan, const T* source, const T* weight, const T* bias, T* result, ImageFinish finish);
template <class T>
void convolve_depthwise_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw);

}  // namespace pyburn::cpu
