// The geometry of one 2-d convolution.
#pragma once
#include <algorithm>

#include "pyburn/tensor/shape.h"

namespace pyburn::cpu {

inline int64_t divided_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// One spatial dimension.
struct ConvAxis {
  int64_t in, kernel, out, stride, padding, dilation;

  // Input index of kernel tap `t` for output `o`; may be outside the input.
  int64_t position(int64_t o, int64_t t) const { return o * stride - padding + t * dilation; }
  // The outputs [first, last) for which tap `t` is inside the input.
  struct Range {
    int64_t first, last;
  };
  Range inside(int64_t t) const {
    const int64_t shift = padding - t * dilation;
    const int64_t first = std::clamp<int64_t>(shift > 0 ? (shift + stride - 1) / stride : 0, 0, out);
    const int64_t last = in + shift > 0 ? (in + shift + stride - 1) / stride : 0;
    return {first, std::clamp(last, first, out)};
  }
};

struct ConvGeometry {
  int64_t batch, groups, channels, outputs;  // input and output channels per group
  ConvAxis y, x;

  template <class A>
  ConvGeometry(const A& a, const Shape& input, const Shape& weight, const Shape& output)
      : batch(input[0]),
        groups(a.groups),
        channels(weight[1]),
        outputs(weight[0] / a.groups),
        y{input[2], weight[2], output[2], a.stride[0], a.padding[0], a.dilation[0]},
        x{input[3], weight[3], output[3], a.stride[1], a.padding[1], a.dilation[1]} {}

  int64_t taps() const { return y.kernel * x.kernel; }
  int64_t columns() const { return channels * taps(); }  // rows of the unfolded input: one per weight of an output
  int64_t pixels() const { return y.out * x.out; }       // elements of an output plane
  int64_t plane() const { return y.in * x.in; }          // elements of an input plane
  bool pointwise() const {                               // the unfolded input equals the input
    return one_tap() && y.stride == 1 && x.stride == 1;
  }
  bool one_tap() const { return taps() == 1 && unpadded(); }
  bool unpadded() const { return y.padding == 0 && x.padding == 0; }
  bool depthwise() const { return channels == 1 && outputs == 1 && groups > 1; }
};

}  // namespace pyburn::cpu
