// Resize and Upsample, one axis after the other.
#include <algorithm>
#include <cmath>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/onnx/operators/resize_taps.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/interpolate.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// What the core has as one operation.
std::optional<TensorHandle> in_core(const TensorHandle& x, int axis, const ResizeAxis& a) {
  if (a.antialias || a.exclude_outside) return {};
  const double step = 1 / a.scale;
  if (a.mode == "nearest") {
    if (a.transform == "asymmetric" && a.rounding == "floor")
      return fn::resize_axis(x, axis, a.input, a.output, "nearest", false, step, false);
    return {};
  }
  if (!is_floating(x.dtype()) || (a.mode == "cubic" && a.cubic_a != -0.75)) return {};
  if (a.transform == "align_corners") return fn::resize_axis(x, axis, a.input, a.output, a.mode, true, 0, false);
  if (a.transform == "half_pixel" || (a.transform == "pytorch_half_pixel" && a.output > 1))
    return fn::resize_axis(x, axis, a.input, a.output, a.mode, false, step, false);
  return {};
}

TensorHandle resize_along(const TensorHandle& x, int axis, const ResizeAxis& a) {
  require(a.input > 0, "[resize] an axis of size 0 cannot be resized: got {}", x.shape());
  if (std::optional<TensorHandle> done = in_core(x, axis, a)) return *done;
  if (a.mode == "nearest") return fn::index_select(x, axis, integers_on(x.device(), a.nearest()));
  require<UnsupportedOp>(double(a.output) * double(a.input) <= double(1 << 26), "[resize] {} to {} elements with {} and {} is too large",
      a.input, a.output, a.mode, a.transform);
  TensorHandle weights = reals_on(x.device(), a.weights(), {a.output, a.input});
  if (x.dtype() != DType::float32) weights = fn::cast(weights, x.dtype());
  return fn::transpose(fn::matmul(fn::transpose(x, axis, -1), fn::transpose(weights, 0, 1)), axis, -1);
}

struct ResizeOptions {
  Dims axes;
  std::vector<double> scales, roi;
  OptionalDims sizes;
  ResizeAxis plain;
  double extrapolation = 0;
  std::string policy = "stretch";
};

// One scale for all axes, so that the picture keeps its form.
void keep_aspect_ratio(ResizeOptions& o, const Shape& shape) {
  double scale = o.policy == "not_larger" ? INFINITY : 0;
  for (int64_t i = 0; i < o.axes.size(); ++i) {
    const double one = double((*o.sizes)[i]) / double(shape[int(o.axes[i])]);
    scale = o.policy == "not_larger" ? std::min(scale, one) : std::max(scale, one);
  }
  for (int64_t i = 0; i < o.axes.size(); ++i) {
    (*o.sizes)[i] = int64_t(std::floor(scale * double(shape[int(o.axes[i])]) + 0.5));
    o.scales.push_back(scale);
  }
}

TensorHandle resize(TensorHandle x, ResizeOptions o) {
  const DType dtype = x.dtype();
  const Shape shape = x.shape();
  const int64_t n = o.axes.size();
  if (o.sizes) {
    require<FormatError>(o.sizes->size() == n, "[resize] sizes must have a number for each axis: got {}", *o.sizes);
    if (o.policy != "stretch") keep_aspect_ratio(o, shape);
  }
  require<FormatError>(
      o.sizes || int64_t(o.scales.size()) == n, "[resize] scales must have a number for each axis: got {}", int64_t(o.scales.size()));
  const bool crops = o.plain.transform == "tf_crop_and_resize";
  require<FormatError>(
      !crops || int64_t(o.roi.size()) == 2 * n, "[resize] roi must have two numbers for each axis: got {}", int64_t(o.roi.size()));
  require<FormatError>(
      o.plain.mode == "nearest" || o.plain.mode == "linear" || o.plain.mode == "cubic", "[resize] no such mode: got '{}'", o.plain.mode);
  if (o.plain.mode != "nearest" && is_integral(dtype)) x = fn::cast(x, DType::float32);
  for (int64_t i = 0; i < n; ++i) {
    const int axis = int(o.axes[i]);
    ResizeAxis a = o.plain;
    a.input = shape[axis];
    const double size = double(a.input);
    a.scale = o.scales.empty() ? double((*o.sizes)[i]) / size : o.scales[size_t(i)];
    require<ValueError>(a.scale > 0 && a.scale * size < double(int64_t(1) << 40), "[resize] bad scale: got {}", a.scale);
    a.output = o.sizes ? (*o.sizes)[i] : int64_t(std::floor(size * a.scale));
    if (crops) {
      a.roi_start = o.roi[size_t(i)], a.roi_end = o.roi[size_t(i + n)];
      if (!o.sizes) a.output = int64_t(std::floor(size * (a.roi_end - a.roi_start) * a.scale));
    }
    require(a.output >= 0, "[resize] negative size: got {}", a.output);
    if (a.is_identity()) continue;
    x = resize_along(x, axis, a);
    if (!crops) continue;
    std::vector<float> outside;
    for (int64_t k = 0; k < a.output; ++k) outside.push_back(a.is_outside(k));
    Dims along(x.rank(), 1);
    along[axis] = a.output;
    x = fn::where(fn::ne(reals_on(x.device(), outside, along), 0), Operand(o.extrapolation), x);
  }
  if (x.dtype() == dtype) return x;
  return fn::cast(fn::round(x), dtype);
}

Results resize_10(Call& c) {
  const TensorHandle x = c.input(0);
  ResizeOptions o;
  for (int i = 0; i < x.rank(); ++i) o.axes.push_back(i);
  o.scales = c.has_input(1) ? c.read_numbers(1) : c.reals("scales");
  o.plain.mode = c.text("mode", "nearest");
  o.plain.transform = "asymmetric", o.plain.rounding = "floor";
  if (o.plain.mode == "bilinear" || o.plain.mode == "trilinear") o.plain.mode = "linear";
  return resize(x, o);
}

Results resize_11(Call& c) {
  const TensorHandle x = c.input(0);
  ResizeOptions o;
  if (const OptionalDims axes = c.integers("axes"))
    for (const int64_t axis : *axes) o.axes.push_back(normalise_dim(axis, x.rank()));
  else
    for (int i = 0; i < x.rank(); ++i) o.axes.push_back(i);
  if (c.has_input(1)) o.roi = c.read_numbers(1);
  if (c.has_input(2)) o.scales = c.read_numbers(2);
  if (c.has_input(3)) {
    const Dims sizes = c.dims_of("", 3);
    if (!sizes.empty()) o.sizes = sizes, o.scales.clear();
  }
  o.policy = c.text("keep_aspect_ratio_policy", "stretch");
  o.extrapolation = c.real("extrapolation_value", 0);
  o.plain.mode = c.text("mode", "nearest");
  o.plain.transform = c.text("coordinate_transformation_mode", "half_pixel");
  o.plain.rounding = c.text("nearest_mode", "round_prefer_floor");
  o.plain.cubic_a = c.real("cubic_coeff_a", -0.75);
  o.plain.exclude_outside = c.flag("exclude_outside");
  o.plain.antialias = c.flag("antialias");
  return resize(x, o);
}

constexpr Operator kRows[] = {
    {"", "Upsample", 7, resize_10, inputs_at(1)},
    {"", "Resize", 10, resize_10, inputs_at(1)},
    {"", "Resize", 11, resize_11, inputs_at(1, 2, 3)},
};

}  // namespace

std::span<const Operator> resize_operators() { return kRows; }

}  // namespace pyburn::onnx
