// Patches of a volume as columns of a matrix (im2col), and their sum back into the volume. Images are volumes of depth 1.
#pragma once
#include "pyburn/backends/cpu/conv/geometry.h"

namespace pyburn::cpu {

struct Volume {
  ConvAxis z, y, x;
  int64_t plane() const { return z.in * y.in * x.in; }
  int64_t taps() const { return z.kernel * y.kernel * x.kernel; }
  int64_t lines() const { return z.out * y.out; }  // rows of pixels of the output
  int64_t pixels() const { return lines() * x.out; }

  // Geometry from sizes and attributes with two or three entries.
  Volume(const Dims& in, const Dims& kernel, const Dims& out, const Dims& stride, const Dims& padding, const Dims& dilation)
      : z{1, 1, 1, 1, 0, 1} {
    ConvAxis* axes[] = {&z, &y, &x};
    const int64_t missing = 3 - in.size();
    for (int64_t i = 0; i < in.size(); ++i) *axes[missing + i] = {in[i], kernel[i], out[i], stride[i], padding[i], dilation[i]};
  }
};

// columns (channels * taps, pixels of the output rows [begin, end)) = the input value at each tap and pixel; 0 outside the image.
template <class T>
void unfold(const Volume& v, const T* image, int64_t channels, int64_t begin, int64_t end, T* columns);

// Adds such columns to the positions of the image that they came from.
template <class T>
void fold(const Volume& v, const T* columns, int64_t channels, int64_t begin, int64_t end, T* image);

}  // namespace pyburn::cpu
