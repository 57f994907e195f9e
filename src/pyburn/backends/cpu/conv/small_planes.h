// Convolution with a kernel of one tap over small planes: channels of the result in vectors, pixels as rows, of which every number fills
// the tiles. The weights are packed; the source is read where it lies, whether columns or channels are contiguous.
#pragma once
#include "pyburn/backends/cpu/conv/direct.h"

namespace pyburn::cpu {

// Does it pay for a kernel of one tap, steps of one and images of these strides?
bool suits_small_planes(const ConvGeometry& g, bool channels_last);

int64_t small_planes_weights_size(const ConvGeometry& g);  // elements
void pack_small_planes_weights(const ConvGeometry& g, const float* weight, float* packed);

// Of both images columns or channels are contiguous, and rows follow each other.
void convolve_small_planes(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish);

}  // namespace pyburn::cpu
