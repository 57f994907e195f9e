// Convolution with 3x3 kernels and stride 1 by Winograd's F(4x4, 3x3): a quarter of the multiplications, at the price of rounding errors
// some five times as large. For float32.
#pragma once
#include "pyburn/backends/cpu/conv/direct.h"

namespace pyburn::cpu {

// May results be rounded less precisely for speed? See pyburn.set_float32_conv_precision.
bool fast_convolution();
void set_fast_convolution(bool allowed);

// Does it pay for this plan?
bool suits_winograd(const ConvPlan& plan);

// The transformed weights, for any number of calls.
int64_t winograd_weights_size(const ConvPlan& plan);  // elements
void pack_winograd_weights(const ConvPlan& plan, bool input_gradient, const float* weight, float* packed);

void convolve_winograd(
    const ConvPlan& plan, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish);

}  // namespace pyburn::cpu
