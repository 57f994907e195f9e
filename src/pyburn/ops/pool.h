// Pooling: one value per window of an image, over one to three trailing spatial dimensions.
#pragma once
#include <algorithm>

#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct MaxPool {
  Dims kernel_size;  // adaptive: the output size, which determines the windows
  Dims stride, padding, dilation;
  bool ceil_mode = false, adaptive = false;
  PB_FIELDS(kernel_size, stride, padding, dilation, ceil_mode, adaptive)
  static MaxPool from(const TensorHandle&, const Dims& kernel_size, const Dims& stride, const Dims& padding, const Dims& dilation,
      bool ceil_mode, bool adaptive) {
    return {kernel_size, stride, padding, dilation, ceil_mode, adaptive};
  }
};

struct AvgPool {
  Shape input_size;  // of the gradient; empty in the forward pass
  Dims kernel_size, stride, padding;
  bool ceil_mode = false, count_include_pad = true;
  int64_t divisor = 0;  // 0: the number of elements in the window
  bool adaptive = false;
  PB_FIELDS(input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, adaptive)
  static AvgPool from(const TensorHandle&, const Dims& kernel_size, const Dims& stride, const Dims& padding, bool ceil_mode,
      bool count_include_pad, int64_t divisor, bool adaptive) {
    return {{}, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, adaptive};
  }
  static AvgPool from(const TensorHandle&, const Dims& input_size, const Dims& kernel_size, const Dims& stride, const Dims& padding,
      bool ceil_mode, bool count_include_pad, int64_t divisor, bool adaptive) {
    return {input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, adaptive};
  }
};

// The inverse of max_pool: elements are written to given positions of a larger plane.
struct Unpool {
  Dims output_size;
  bool accumulate = false;  // for repeated positions: add, else the last one is stored
  PB_FIELDS(output_size, accumulate)
  static Unpool from(const TensorHandle&, const TensorHandle&, const Dims& output_size, bool accumulate) {
    return {output_size, accumulate};
  }
};

// The windows along one dimension, whose sizes are below 2^31.
struct PoolAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool adaptive = false;

  int64_t begin(int64_t o) const {                          // may be negative
    return adaptive ? o * in / out : o * stride - padding;  // fits: inside the padded input
  }
  int64_t end(int64_t o) const {
    return adaptive ? ((o + 1) * in + out - 1) / out : begin(o) + dilation * (kernel - 1) + 1;  // fits: inside the padded input
  }
  int64_t first(int64_t o) const {  // inside
    const int64_t b = begin(o);
    return b >= 0 ? b : b + (-b + dilation - 1) / dilation * dilation;  // fits: inside the padded input
  }
  int64_t last(int64_t o) const { return std::min(end(o), in); }
  // Number of elements of the window, with or without padding.
  int64_t count(int64_t o, bool padded) const {
    return padded ? std::min(end(o), in + padding) - begin(o) : std::max<int64_t>(0, last(o) - first(o));
  }
};
PoolAxis pool_axis(const MaxPool& a, int64_t axis, int64_t extent);
PoolAxis pool_axis(const AvgPool& a, int64_t axis, int64_t extent);

namespace op {
extern OpInfo max_pool, max_pool_with_indices, unpool, unpool_input, avg_pool, avg_pool_input;
}

}  // namespace pyburn
