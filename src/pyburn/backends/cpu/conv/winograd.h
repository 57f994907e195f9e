// Winograd convolution F(4x4, 3x3) for 3x3 kernels with stride 1: a quarter of the multiplications, with rounding errors about five times
// as large. float32 only.
#pragma once
#include "pyburn/backends/cpu/conv/direct.h"

namespace pyburn::cpu {

// Is the faster, less precise rounding allowed? See pyburn.set_float32_conv_precision.
bool fast_convolution();
void set_fast_convolution(bool allowed);

// Is this method faster for the plan?
bool suits_winograd(const ConvPlan& plan);

// The transformed weights, reusable for any number of calls.
int64_t winograd_weights_size(const ConvPlan& plan);  // number of elements
void pack_winograd_weights(const ConvPlan& plan, bool input_gradient, const float* weight, float* packed);

void convolve_winograd(
    const ConvPlan& plan, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish);

}  // namespace pyburn::cpu
