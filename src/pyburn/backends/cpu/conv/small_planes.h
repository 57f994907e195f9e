// 1x1 convolution over small planes: vectors hold output channels and pixels are rows, so any number of pixels fills the tiles. Weights are
// packed; the source is read in place, with contiguous columns or channels.
#pragma once
#include "pyburn/backends/cpu/conv/direct.h"

namespace pyburn::cpu {

// Is this method faster for a 1x1 kernel with stride 1 and images with these strides?
bool suits_small_planes(const ConvGeometry& g, bool channels_last);

int64_t small_planes_weights_size(const ConvGeometry& g);  // number of elements
void pack_small_planes_weights(const ConvGeometry& g, const float* weight, float* packed);

// In both images either columns or channels are contiguous, and rows follow each other.
void convolve_small_planes(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish);

}  // namespace pyburn::cpu
