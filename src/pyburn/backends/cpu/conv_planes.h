// Convolution with columns in vectors, for groups of few channels: each plane of the source is copied with its
// padding, split by strides, so that every product reads whole vectors at fixed distances. Nothing is transposed and no weight is packed.
#pragma once
#include "pyburn/backends/cpu/conv_plan.h"

namespace pyburn::cpu {

// Does it pay for this plan?
bool suits_planes(const ConvPlan& plan);

// All tensors are plain; bias may be null.
template <class T>
void convolve_planes(const ConvPlan& plan, const T* source, const T* weight, const T* bias, T* result);

}  // namespace pyburn::cpu
