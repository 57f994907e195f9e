// A convolution as a matrix product: the input unfolded into one row per weight, and its inverse.
#pragma once
#include "pyburn/backends/cpu/conv_geometry.h"

namespace pyburn::cpu {

// columns (channels * taps, pixels of the rows [row, row_end) of the output) = the elements of `image`, whose planes are contiguous,
// that each weight of `channels` channels meets at each pixel; zero outside of the image.
template <class T>
void im2col(const ConvGeometry& g, const T* image, int64_t channels, int64_t row, int64_t row_end, T* columns);

// Adds the columns of all output pixels to the places of the image they came from.
template <class T>
void col2im(const ConvGeometry& g, const T* columns, int64_t channels, T* image);

}  // namespace pyburn::cpu
