// Convolution in which each channel has a kernel of its own, with columns in vectors that are read where the image lies. Tensors are plain.
#pragma once
#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/plan.h"

namespace pyburn::cpu {

// The result of the plan, forward or gradient of the input; weight is (channels, height, width), bias may be null.
template <class T>
void convolve_depthwise(const ConvPlan& plan, const T* source, const T* weight, const T* bias, T* result, ImageFinish finish);
template <class T>
void convolve_depthwise_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw);

}  // namespace pyburn::cpu
