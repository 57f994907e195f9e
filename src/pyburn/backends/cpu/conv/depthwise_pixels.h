// Convolution in which each channel has a kernel of its own, over images whose channels come last: channels in vectors, so that planes of
// any size fill them.
#pragma once
#include "pyburn/backends/cpu/conv/direct.h"

namespace pyburn::cpu {

// The weights with the channels of a vector side by side, for any number of calls. `weight` is the plain tensor.
int64_t depthwise_pixels_weights_size(const ConvGeometry& g);  // elements
void pack_depthwise_pixels_weights(const ConvGeometry& g, const float* weight, float* packed);

// Of both images channels are contiguous, and rows follow each other.
void convolve_depthwise_pixels(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish);

}  // namespace pyburn::cpu
