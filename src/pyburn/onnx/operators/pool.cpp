// Pooling.
#include "pyburn/ops/generated/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/windows.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/conv_functions.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/pool_functions.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/unfold.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Borders that just let the last window in: the exact number of windows then follows from the floor.
Windows exact(Windows w, const Shape& x, bool ceil_mode) {
  for (int i = 0; i < w.axes; ++i) {
    const int64_t count = w.outputs(i, x[i + 2], ceil_mode);
    w.after[i] = Checked(count - 1) * w.stride[i] + w.reach(i) - x[i + 2] - w.before[i];
  }
  return w;
}
// May the pools of the core take these borders as they are?
bool fits_core(const Windows& w) {
  if (!w.is_symmetric()) return false;
  for (int i = 0; i < w.axes; ++i)
    if (w.before[i] < 0 || w.before[i] > w.kernel[i] / 2) return false;
  return true;
}

Scalar least_of(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (is_unsigned_integer(dtype)) return 0;
  return -(int64_t(1) << (dtype_info(dtype).bits - 1));
}

// Indices of the maxima in the flattened input, channels and batch included. storage_order 1 counts down the columns.
TensorHandle flat_indices(Call& c, const TensorHandle& x, const Windows& w, const TensorHandle& padded_indices, bool was_padded) {
  Dims padded;
  for (int i = 0; i < w.axes; ++i) padded.push_back(was_padded ? x.shape()[i + 2] + w.before[i] + w.after[i] : x.shape()[i + 2]);
  const bool columns_first = c.flag("storage_order");
  require<UnsupportedOp>(!columns_first || w.axes <= 2, "[onnx] storage_order=1 is supported for one and two axes");
  // Taken apart into places along the axes, and put together in the unpadded input.
  TensorHandle rest = padded_indices, flat;
  int64_t step = 1;
  std::vector<TensorHandle> places(size_t(w.axes));
  for (int i = w.axes - 1; i >= 0; --i) {
    places[size_t(i)] = fn::sub(fn::remainder(rest, padded[i]), was_padded ? w.before[i] : int64_t(0));
    rest = fn::div(rest, padded[i], "floor");
  }
  for (int k = 0; k < w.axes; ++k) {
    const int i = columns_first ? k : w.axes - 1 - k;
    const TensorHandle part = fn::mul(places[size_t(i)], step);
    flat = flat.defined() ? fn::add(flat, part) : part;
    step *= x.shape()[i + 2];
  }
  const int64_t planes = Checked(x.shape()[0]) * x.shape()[1];
  Dims shape(x.rank(), 1);
  shape[0] = x.shape()[0], shape[1] = x.shape()[1];
  const TensorHandle plane = fn::reshape(fn::arange({}, planes, 1, DType::int64, &x.device()), shape);
  return fn::add(flat, fn::mul(plane, step));
}

Results max_pool(Call& c, const TensorHandle& x) {
  const Windows w = exact(Windows::of(c, x.shape()), x.shape(), c.flag("ceil_mode"));
  require(w.axes <= 3, "[max_pool] at most three spatial axes are supported: got {}", x.shape());
  const bool padded = !fits_core(w);
  const TensorHandle input = padded ? fn::constant_pad_nd(x, w.border(), least_of(x.dtype())) : x;
  const Dims pads = padded ? Dims(w.axes, 0) : w.before;
  if (!c.wants_output(1)) {
    if (w.axes == 1) return fn::max_pool1d(input, w.kernel, w.stride, pads, w.dilation);
    if (w.axes == 2) return fn::max_pool2d(input, w.kernel, w.stride, pads, w.dilation);
    return fn::max_pool3d(input, w.kernel, w.stride, pads, w.dilation);
  }
  Handles<2> both;
  if (w.axes == 1) both = fn::max_pool1d_with_indices(input, w.kernel, w.stride, pads, w.dilation);
  else if (w.axes == 2) both = fn::max_pool2d_with_indices(input, w.kernel, w.stride, pads, w.dilation);
  else both = fn::max_pool3d_with_indices(input, w.kernel, w.stride, pads, w.dilation);
  return {both[0], flat_indices(c, x, w, both[1], padded)};
}

// Sums over windows, by a convolution of each channel with ones: for dilations, and for divisors that the core does not have.
TensorHandle window_sums(const TensorHandle& x, const Windows& w) {
  const int64_t n = x.shape()[0], channels = x.shape()[1];
  Dims planes = x.shape(), kernel{1, 1};
  planes[0] = Checked(n) * channels, planes[1] = 1;
  for (const int64_t k : w.kernel) kernel.push_back(k);
  const TensorHandle input = fn::reshape(x, planes), ones = fn::ones(kernel, x.dtype(), &x.device());
  const Dims none(w.axes, 0);
  TensorHandle y;
  if (w.axes == 1) y = fn::conv1d(input, ones, {}, w.stride, none, w.dilation);
  else if (w.axes == 2) y = fn::conv2d(input, ones, {}, w.stride, none, w.dilation);
  else y = fn::conv3d(input, ones, {}, w.stride, none, w.dilation);
  Dims result = y.shape();
  result[0] = n, result[1] = channels;
  return fn::reshape(y, result);
}

}  // namespace

TensorHandle maxima(Call& c, const TensorHandle& x) { return max_pool(c, x)[0].tensor(); }

TensorHandle averages(Call& c, const TensorHandle& x) {
  const Windows given = Windows::of(c, x.shape());
  require(given.axes <= 3, "[average_pool] at most three spatial axes are supported: got {}", x.shape());
  const bool ceil_mode = c.flag("ceil_mode"), counts_border = c.flag("count_include_pad");
  const Windows w = exact(given, x.shape(), ceil_mode);
  const bool undilated = std::all_of(w.dilation.begin(), w.dilation.end(), [](int64_t d) { return d == 1; });
  bool border_is_all = true;  // windows do not reach over the border that was asked for
  for (int i = 0; i < w.axes; ++i) border_is_all = border_is_all && w.after[i] <= given.after[i];
  const bool simple = fits_core(w) && (w.is_unpadded() || border_is_all || !counts_border);
  if (undilated && simple) {
    if (w.axes == 1) return fn::avg_pool1d(x, w.kernel, w.stride, w.before, false, counts_border);
    if (w.axes == 2) return fn::avg_pool2d(x, w.kernel, w.stride, w.before, false, counts_border);
    return fn::avg_pool3d(x, w.kernel, w.stride, w.before, false, counts_border);
  }
  const TensorHandle sums = window_sums(fn::constant_pad_nd(x, w.border(), 0.0), w);
  Dims plane = x.shape();
  plane[0] = plane[1] = 1;
  // What counts: the input, and the border that was asked for if it does.
  Windows counted = w;
  TensorHandle ones = fn::ones(plane, x.dtype(), &x.device());
  if (counts_border) {
    Windows asked = w;
    for (int i = 0; i < w.axes; ++i) {
      asked.after[i] = std::min(w.after[i], given.after[i]);
      counted.before[i] = 0, counted.after[i] = w.after[i] - asked.after[i];
    }
    ones = fn::constant_pad_nd(ones, asked.border(), 1.0);
  }
  return fn::div(sums, window_sums(fn::constant_pad_nd(ones, counted.border(), 0.0), w));
}

namespace {

Results max_pool(Call& c) { return max_pool(c, c.input(0)); }
Results average_pool(Call& c) { return averages(c, c.input(0)); }

Results lp_pool(Call& c) {
  const TensorHandle x = c.input(0);
  const double p = double(c.integer("p", 2));
  const Windows w = exact(Windows::of(c, x.shape()), x.shape(), c.flag("ceil_mode"));
  require(w.axes <= 3, "[lp_pool] at most three spatial axes are supported: got {}", x.shape());
  const TensorHandle powers = fn::pow(fn::abs(x), p);
  return fn::pow(window_sums(w.is_unpadded() ? powers : fn::constant_pad_nd(powers, w.border(), 0.0), w), 1 / p);
}

Dims spatial_axes(const TensorHandle& x) {
  require(x.rank() >= 3, "[onnx] expected (N, C, ...): got {}", x.shape());
  Dims axes;
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}
Results global_average_pool(Call& c) { return global_averages(c.input(0)); }
Results global_max_pool(Call& c) {
  const TensorHandle x = c.input(0);
  return fn::amax(x, spatial_axes(x), true);
}
Results global_lp_pool(Call& c) {
  const TensorHandle x = c.input(0);
  const double p = double(c.integer("p", 2));
  return fn::pow(fn::sum(fn::pow(fn::abs(x), p), spatial_axes(x), true), 1 / p);
}

// The inverse of a MaxPool: indices count in the flattened output. output_shape makes it larger at its end.
Results max_unpool(Call& c) {
  const TensorHandle x = c.input(0), index = c.input(1);
  const int n = x.rank() - 2;
  const Dims kernel = c.dims("kernel_shape"), stride = c.integers("strides", Dims(n, 1)), pads = c.integers("pads", Dims(2 * n, 0));
  require<FormatError>(n >= 1 && kernel.size() == n && stride.size() == n && pads.size() == 2 * n,
      "[max_unpool] kernel_shape, strides and pads must have a number for each axis");
  Dims natural = x.shape();
  for (int i = 0; i < n; ++i) natural[i + 2] = Checked(x.shape()[i + 2] - 1) * stride[i] + kernel[i] - pads[i] - pads[i + n];
  const TensorHandle zeros = fn::zeros({checked_numel(natural)}, x.dtype(), &x.device());
  const TensorHandle y = fn::reshape(fn::scatter(zeros, 0, fn::reshape(index, {-1}), fn::reshape(x, {-1})), natural);
  if (!c.has_input(2)) return y;
  const Dims size = c.dims_of("", 2);
  require(size.size() == y.rank(), "[max_unpool] output_shape must have {} numbers: got {}", y.rank(), size);
  Dims border;
  for (int i = y.rank() - 1; i >= 0; --i) border.push_back(0), border.push_back(Checked(size[i]) - natural[i]);
  return fn::constant_pad_nd(y, border, 0.0);
}

constexpr Operator kRows[] = {
    {"", "MaxPool", 1, max_pool},
    {"", "AveragePool", 1, average_pool},
    {"", "LpPool", 2, lp_pool},
    {"", "GlobalMaxPool", 1, global_max_pool},
    {"", "GlobalAveragePool", 1, global_average_pool},
    {"", "GlobalLpPool", 2, global_lp_pool},
    {"", "MaxUnpool", 9, max_unpool, inputs_at(2)},
};

}  // namespace

TensorHandle global_averages(const TensorHandle& x) { return fn::mean(x, spatial_axes(x), true); }

std::span<const Operator> pool_operators() { return kRows; }

}  // namespace pyburn::onnx
