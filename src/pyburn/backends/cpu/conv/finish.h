// Epilogues: functions applied to finished results of a convolution while these are still in the cache of the thread that computed them.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {

// Minimum number of consecutive results for which a call pays off.
inline constexpr int64_t kFinishedTogether = 4096;

// Runs the epilogue over the complete result, for kernels that could not apply it on the way.
inline void finish_all(int64_t elements, Finish finish) {
  parallel_for(elements, 8 * kFinishedTogether, [&](int64_t begin, int64_t end) { finish(0, 1, begin, end - begin); });
}

// Passes blocks of results to a Finish that sees them as a matrix in memory order: a row is a plane (NCHW) or a pixel (channels last). A
// block of a single row may extend into the following rows.
class ImageFinish {
 public:
  ImageFinish() = default;
  ImageFinish(Finish finish, int64_t channels, int64_t pixels, bool channels_last)
      : finish_(finish), channels_(channels), pixels_(pixels), channels_last_(channels_last) {}
  explicit operator bool() const { return bool(finish_); }

  // Channels [channel, channel + channels), counted over all groups, of pixels [pixel, pixel + pixels) of an image.
  void operator()(int64_t image, int64_t channel, int64_t channels, int64_t pixel, int64_t pixels) const {
    if (!finish_) return;
    if (channels_last_) finish_(image * pixels_ + pixel, pixels, channel, channels);
    else finish_(image * channels_ + channel, channels, pixel, pixels);
  }
  // Consecutive elements in memory order.
  void range(int64_t begin, int64_t count) const {
    if (finish_) finish_(0, 1, begin, count);
  }

 private:
  Finish finish_;
  int64_t channels_ = 0, pixels_ = 0;  // elements per image
  bool channels_last_ = false;
};

}  // namespace pyburn::cpu
