// Pooling of images whose channels come last: float32, vectors hold channels.
#pragma once
#include "pyburn/backends/cpu/pool_windows.h"

namespace pyburn::cpu {

// Images (images, height, width, channels), contiguous, whose planes have these windows; results are in the same order.
struct PixelImages {
  int64_t images, channels;
  const float* x;
  float* y;
};
void max_pool_pixels(const PoolWindows& w, const PixelImages& p);
void avg_pool_pixels(const PoolWindows& w, const PixelImages& p);

}  // namespace pyburn::cpu
