// Convolutions.
#include "pyburn/onnx/operators/convolution.h"

#include <algorithm>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/windows.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/conv_functions.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/unfold.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

constexpr int64_t kLargest = int64_t(1) << 31;

Dims spatial(const Shape& s) { return Dims(std::span<const int64_t>(s.data() + 2, size_t(s.rank() - 2))); }

void check_rank_of(const TensorHandle& x, const TensorHandle& weight, const char* op) {
  require(x.rank() >= 3 && x.rank() <= 5 && weight.rank() == x.rank(),
      "[{}] expected (N, C, ...) with 1 to 3 spatial axes and a weight of the same rank: got {} and {}", op, x.shape(), weight.shape());
}

}  // namespace

TensorHandle convolution(Call& c, const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias) {
  TensorHandle x = input;
  check_rank_of(x, weight, "conv");
  const Dims given = c.integers("kernel_shape", spatial(weight.shape()));
  require(given == spatial(weight.shape()), "[conv] kernel_shape does not fit the weight: got {} for {}", given, weight.shape());
  Windows w = Windows::of(c, x.shape(), given);
  const int64_t groups = c.integer("group", 1);
  if (!w.is_symmetric()) {
    x = fn::constant_pad_nd(x, w.border(), 0.0);
    w.before = Dims(w.axes, 0);
  }
  if (w.axes == 1) return fn::conv1d(x, weight, bias, w.stride, w.before, w.dilation, groups);
  if (w.axes == 2) return fn::conv2d(x, weight, bias, w.stride, w.before, w.dilation, groups);
  return fn::conv3d(x, weight, bias, w.stride, w.before, w.dilation, groups);
}

namespace {

Results conv(Call& c) { return convolution(c, c.input(0), c.input(1), c.optional_input(2)); }

// Without borders, then cut to them: they need not be alike. Where output_shape asks for more, zeros are added.
Results conv_transpose(Call& c) {
  const TensorHandle x = c.input(0), weight = c.input(1);
  check_rank_of(x, weight, "conv_transpose");
  const int n = x.rank() - 2;
  const Dims kernel = spatial(weight.shape());
  const Dims stride = c.integers("strides", Dims(n, 1)), dilation = c.integers("dilations", Dims(n, 1));
  Dims extra = c.integers("output_padding", Dims(n, 0)), pads = c.integers("pads", Dims(2 * n, 0));
  require<FormatError>(stride.size() == n && dilation.size() == n && extra.size() == n && pads.size() == 2 * n,
      "[conv_transpose] strides, dilations, output_padding and pads must have a number for each axis");
  for (int i = 0; i < n; ++i) {
    const bool fits_64_bits = pads[i] > -kLargest && pads[i] < kLargest && pads[i + n] > -kLargest && pads[i + n] < kLargest;
    require<FormatError>(fits_64_bits && stride[i] > 0 && dilation[i] > 0 && extra[i] >= 0 && extra[i] < kLargest && stride[i] < kLargest &&
                             dilation[i] < kLargest,
        "[conv_transpose] strides, dilations, output_padding or pads are out of range");
  }
  const std::string mode = c.text("auto_pad", "NOTSET");
  OptionalDims size = c.integers("output_shape");
  if (!size && (mode == "SAME_UPPER" || mode == "SAME_LOWER")) {
    size.emplace();
    for (int i = 0; i < n; ++i) size->push_back(Checked(x.shape()[i + 2]) * stride[i]);
  }
  if (size) {
    require<FormatError>(
        size->size() == n || size->size() == n + 2, "[conv_transpose] output_shape must have {} numbers: got {}", n, *size);
    for (int i = 0; i < n; ++i) {
      const int64_t wanted = (*size)[size->size() - n + i];
      const int64_t given = Checked(stride[i]) * (x.shape()[i + 2] - 1) + extra[i] + Checked(kernel[i] - 1) * dilation[i] + 1;
      const int64_t total = std::max<int64_t>(given - wanted, 0);
      extra[i] += std::max<int64_t>(wanted - given, 0);
      const int64_t smaller = total / 2, larger = total - total / 2;
      pads[i] = mode == "SAME_UPPER" ? smaller : larger, pads[i + n] = mode == "SAME_UPPER" ? larger : smaller;
    }
  }
  const int64_t groups = c.integer("group", 1);
  Dims before, after;
  for (int i = 0; i < n; ++i) before.push_back(pads[i]), after.push_back(pads[i + n]);
  const bool fits = before == after && std::all_of(before.begin(), before.end(), [](int64_t p) { return p >= 0; }) &&
                    std::equal(extra.begin(), extra.end(), stride.begin(), [](int64_t e, int64_t s) { return e < s; });
  const Dims inner = fits ? before : Dims(n, 0), outer = fits ? extra : Dims(n, 0);
  const TensorHandle bias = fits ? c.optional_input(2) : TensorHandle();
  TensorHandle y;
  if (n == 1) y = fn::conv_transpose1d(x, weight, bias, stride, inner, outer, groups, dilation);
  else if (n == 2) y = fn::conv_transpose2d(x, weight, bias, stride, inner, outer, groups, dilation);
  else y = fn::conv_transpose3d(x, weight, bias, stride, inner, outer, groups, dilation);
  if (fits) return y;
  Dims border;
  for (int i = n - 1; i >= 0; --i) border.push_back(-before[i]), border.push_back(extra[i] - after[i]);
  y = fn::constant_pad_nd(y, border, 0.0);
  if (!c.has_input(2)) return y;
  Dims channels(x.rank(), 1);
  channels[1] = -1;
  return fn::add(y, fn::reshape(c.input(2), channels));
}

constexpr Operator kRows[] = {
    {"", "Conv", 1, conv},
    {"", "ConvTranspose", 1, conv_transpose},
};

}  // namespace

std::span<const Operator> convolution_operators() { return kRows; }

}  // namespace pyburn::onnx
