// Copies parts of images into the order in which convolutions read them, for each instruction set: include after foreach_target.h.
#if defined(PYBURN_CONV_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_CONV_STRIP_INL_H
#undef PYBURN_CONV_STRIP_INL_H
#else
#define PYBURN_CONV_STRIP_INL_H
#endif

#include <algorithm>

#include "pyburn/backends/cpu/conv/direct.h"
#include "pyburn/backends/cpu/gemm/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// A block of rows and columns of some channels of one image, channels contiguous, zero outside the image.
template <class T>
void copy_strip(
    Images<const T> from, int64_t channels, ConvAxis::Range rows, ConvAxis::Range columns, int64_t height, int64_t width, T* to) {
  const int64_t left = std::clamp<int64_t>(-columns.first, 0, columns.last - columns.first);
  const int64_t first = columns.first + left, inside = std::clamp<int64_t>(std::min(width, columns.last) - first, 0, width);
  const int64_t row_size = (columns.last - columns.first) * channels;
  for (int64_t y = rows.first; y < rows.last; ++y, to += row_size) {
    if (y < 0 || y >= height || inside == 0) {
      std::fill_n(to, row_size, T(0));
      continue;
    }
    const T* line = from.data + y * from.row + first * from.column;
    T* target = to + left * channels;
    std::fill_n(to, left * channels, T(0));
    if (from.channel == 1)
      for (int64_t x = 0; x < inside; ++x) std::copy_n(line + x * from.column, channels, target + x * channels);
    else if (channels == 1) std::copy_n(line, inside, target);
    else transpose(channels, inside, line, from.channel, target, channels);
    std::fill(target + inside * channels, to + row_size, T(0));
  }
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
