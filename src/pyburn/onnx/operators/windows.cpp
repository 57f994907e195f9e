#include "pyburn/onnx/operators/windows.h"

#include <algorithm>

#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

constexpr int64_t kLargest = int64_t(1) << 31;

Dims checked_list(Call& c, const char* name, const Dims& otherwise, int count, int64_t least) {
  Dims list = c.integers(name, otherwise);
  require<FormatError>(list.size() == count, "[onnx] '{}' must have {} numbers: got {}", name, count, list);
  for (const int64_t n : list) require<FormatError>(n >= least && n < kLargest, "[onnx] '{}' is out of range: got {}", name, list);
  return list;
}

}  // namespace

Windows Windows::of(Call& c, const Shape& x, const Dims& kernel) {
  require(x.rank() >= 3, "[onnx] expected (N, C, ...): got {}", x);
  Windows w;
  const int n = w.axes = x.rank() - 2;
  w.kernel = kernel.empty() ? checked_list(c, "kernel_shape", {}, n, 1) : kernel;
  w.stride = checked_list(c, "strides", Dims(n, 1), n, 1);
  w.dilation = checked_list(c, "dilations", Dims(n, 1), n, 1);
  w.before = w.after = Dims(n, 0);
  const std::string mode = c.text("auto_pad", "NOTSET");
  if (mode == "NOTSET") {
    const Dims pads = checked_list(c, "pads", Dims(2 * n, 0), 2 * n, -kLargest);
    for (int i = 0; i < n; ++i) w.before[i] = pads[i], w.after[i] = pads[i + n];
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (int i = 0; i < n; ++i) {
      const int64_t size = x[i + 2], count = divide_up(size, w.stride[i]);
      const int64_t total = std::max<int64_t>(Checked(count - 1) * w.stride[i] + w.reach(i) - size, 0);
      (mode == "SAME_UPPER" ? w.before : w.after)[i] = total / 2;
      (mode == "SAME_UPPER" ? w.after : w.before)[i] = total - total / 2;
    }
  } else {
    require<FormatError>(mode == "VALID", "[onnx] no such auto_pad: got '{}'", mode);
  }
  return w;
}

bool Windows::is_unpadded() const {
  for (int i = 0; i < axes; ++i)
    if (before[i] || after[i]) return false;
  return true;
}

int64_t Windows::reach(int axis) const { return Checked(kernel[axis] - 1) * dilation[axis] + 1; }

int64_t Windows::outputs(int axis, int64_t size, bool ceil_mode) const {
  const int64_t room = Checked(size) + before[axis] + after[axis] - reach(axis);
  require(room >= 0, "[onnx] the window is larger than the padded input: got {} for {} + {} + {}", reach(axis), size, before[axis],
      after[axis]);
  int64_t count = room / stride[axis] + 1;
  if (ceil_mode && room % stride[axis] && Checked(count) * stride[axis] < Checked(size) + before[axis]) ++count;
  return count;
}

Dims Windows::border() const {
  Dims list;
  for (int i = axes - 1; i >= 0; --i) list.push_back(before[i]), list.push_back(after[i]);
  return list;
}

}  // namespace pyburn::onnx
