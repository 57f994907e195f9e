// What is done to the results of a convolution where they are complete, while they lie in the cache of the thread that made them.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {

// Results that are worth a call where they follow each other.
inline constexpr int64_t kFinishedTogether = 4096;

// Where nothing could be finished on the way.
inline void finish_all(int64_t elements, Finish finish) {
  parallel_for(elements, 8 * kFinishedTogether, [&](int64_t begin, int64_t end) { finish(0, 1, begin, end - begin); });
}

// Passes blocks of results on to a Finish that knows them as a matrix in the order of memory: a row is a plane (NCHW) or a pixel
// (channels last). A block of a single row may run on into the rows behind it.
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
  // Elements in the order of memory.
  void range(int64_t begin, int64_t count) const {
    if (finish_) finish_(0, 1, begin, count);
  }

 private:
  Finish finish_;
  int64_t channels_ = 0, pixels_ = 0;  // of an image
  bool channels_last_ = false;
};

}  // namespace pyburn::cpu
