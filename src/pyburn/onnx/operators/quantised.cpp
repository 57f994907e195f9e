// Quantised tensors: integers with a scale and a zero point, which are computed with in float32.
#include "pyburn/onnx/operators/quantised.h"

#include <cmath>
#include <limits>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/convolution.h"
#include "pyburn/onnx/operators/low_bits.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// The scale or zero point of x in a shape that broadcasts with it: a number, a row along axis, or one of each block.
TensorHandle spread(const TensorHandle& scale, const TensorHandle& x, int64_t given_axis, int64_t block) {
  if (scale.numel() == 1 && scale.rank() <= 1) return fn::reshape(scale, Dims());
  const int axis = normalise_dim(given_axis, x.rank());
  if (block > 0) {
    require(scale.rank() == x.rank(), "[quantize] blocks need a scale of as many axes: got {} for {}", scale.shape(), x.shape());
    require<ValueError>(block < int64_t(1) << 40 && divide_up(x.shape()[axis], block) == scale.shape()[axis],
        "[quantize] block_size {} does not fit {}: got a scale {}", block, x.shape(), scale.shape());
    const TensorHandle whole = fn::repeat_interleave(scale, block, axis);
    return whole.shape()[axis] == x.shape()[axis] ? whole : fn::slice(whole, axis, 0, x.shape()[axis]);
  }
  if (scale.rank() != 1) return scale;
  require(scale.shape()[0] == x.shape()[axis], "[quantize] expected a scale for each of {} along axis {}: got {}", x.shape(), axis,
      scale.shape());
  Dims shape(x.rank(), 1);
  shape[axis] = scale.shape()[0];
  return fn::reshape(scale, shape);
}

TensorHandle to(const TensorHandle& x, DType dtype) { return x.dtype() == dtype ? x : fn::cast(x, dtype); }

DType computed_in(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

}  // namespace

TensorHandle saturated(const TensorHandle& x, const TensorHandle& zero_point, ElementType type) {
  TensorHandle y = fn::round(x);
  if (zero_point.defined()) y = y + to(zero_point, y.dtype());
  const auto [low, high] = range_of(type);
  return fn::cast(fn::clamp(y, low, high), *element_type_info(int64_t(type)).dtype);
}

namespace {

Results quantize_linear(Call& c) {
  const TensorHandle x = c.input(0), scale = c.input(1);
  const int64_t axis = c.integer("axis", 1), block = c.integer("block_size", 0), asked = c.integer("output_dtype", 0);
  ElementType type = ElementType(asked);
  if (!asked) type = c.has_input(2) ? element_type_of(c.value(2)) : ElementType::uint8;
  const int64_t precision = c.integer("precision", 0);
  const DType division = precision ? dtype_of(precision) : is_floating(scale.dtype()) ? scale.dtype() : DType::float32;
  const TensorHandle quotient = to(x, division) / to(spread(scale, x, axis, block), division);
  const TensorHandle steps = to(quotient, computed_in(division));
  if (is_float_code(type)) {
    TensorHandle y = steps;
    if (c.has_input(2)) y = y + spread(decoded(c.value(2), c.input(2)), x, axis, block);
    return encoded(y, type, c.flag("saturate", true));
  }
  const TensorHandle zero_point = c.has_input(2) ? spread(c.input(2), x, axis, block) : TensorHandle();
  return tagged(saturated(steps, zero_point, type), type);
}

Results dequantize_linear(Call& c) {
  const TensorHandle scale_ = c.input(1);
  const int64_t axis = c.integer("axis", 1), block = c.integer("block_size", 0), asked = c.integer("output_dtype", 0);
  const DType result = asked ? dtype_of(asked) : scale_.dtype(), compute = computed_in(result);
  const auto number = [&](int i) { return to(decoded(c.value(i), c.input(i)), compute); };
  TensorHandle x = number(0);
  if (c.has_input(2)) x = x - spread(number(2), x, axis, block);
  const TensorHandle scale = spread(decoded(c.value(1), scale_), x, axis, block);
  return to(x * to(scale, compute), is_float_code(element_type_of(c.value(1))) && !asked ? DType::float32 : result);
}

Results dynamic_quantize_linear(Call& c) {
  const TensorHandle x = c.input(0);
  const TensorHandle high = fn::clamp(fn::amax(x), 0.0), low = fn::clamp(fn::amin(x), {}, 0.0);
  const TensorHandle range = (high - low) / 255.0, scale = fn::where(fn::gt(range, 0), range, 1.0);
  const TensorHandle zero_point = fn::round(fn::clamp(fn::neg(low) / scale, 0.0, 255.0));
  const TensorHandle y = saturated(x / scale, zero_point, ElementType::uint8);
  return {y, scale, fn::cast(zero_point, DType::uint8)};
}

}  // namespace

TensorHandle centered(const TensorHandle& x, const TensorHandle& zero_point, int axis) {
  const TensorHandle numbers = to(x, DType::float32);
  if (!zero_point.defined()) return numbers;
  const TensorHandle zero = to(zero_point, DType::float32);
  if (zero.numel() == 1) return numbers - fn::reshape(zero, Dims());
  return numbers - (zero.rank() == 1 && axis == -2 ? fn::unsqueeze(zero, -1) : zero);
}
TensorHandle centered_matmul(Call& c, int a, int b, int a_zero, int b_zero, bool transpose_a, bool transpose_b) {
  const auto matrix = [&](int i, bool transpose) { return transpose ? fn::transpose(c.input(i), -1, -2) : c.input(i); };
  return fn::matmul(
      centered(matrix(a, transpose_a), c.optional_input(a_zero), -2), centered(matrix(b, transpose_b), c.optional_input(b_zero), -1));
}
TensorHandle along(const TensorHandle& scale, int axis) {
  if (scale.numel() == 1) return fn::reshape(scale, Dims());
  return scale.rank() == 1 && axis == -2 ? fn::unsqueeze(scale, -1) : scale;
}

namespace {

// Products of numbers of 9 bits whose sum float32 holds exactly.
constexpr int64_t kExactProducts = (int64_t(1) << 24) / (255 * 255);

// The sum of int32 parts, each of at most `each` of `count`; `part` gives that of a range.
template <class Part>
TensorHandle sum_of_parts(int64_t count, int64_t each, const Part& part) {
  TensorHandle sum = fn::cast(part(0, std::min(each, count)), DType::int32);
  for (int64_t from = each; from < count; from += each)
    sum = sum + fn::cast(part(from, std::min(Checked(from) + each, Checked(count))), DType::int32);
  return sum;
}

Results matmul_integer(Call& c) {
  const TensorHandle a = centered(c.input(0), c.optional_input(2), -2), b = centered(c.input(1), c.optional_input(3), -1);
  require(a.rank() > 0 && b.rank() > 0, "[matmul_integer] expected matrices: got {} and {}", a.shape(), b.shape());
  const int rows = b.rank() == 1 ? 0 : b.rank() - 2;
  if (a.shape().back() != b.shape()[rows]) return fn::matmul(a, b);  // the error names the shapes
  return sum_of_parts(a.shape().back(), kExactProducts,
      [&](int64_t from, int64_t to) { return fn::matmul(fn::slice(a, -1, from, to), fn::slice(b, rows, from, to)); });
}

Results qlinear_matmul(Call& c) {
  const TensorHandle sums = centered_matmul(c, 0, 3, 2, 5);
  const TensorHandle factor =
      to(along(c.input(1), -2), DType::float32) * to(along(c.input(4), -1), DType::float32) / to(along(c.input(6), -2), DType::float32);
  return saturated(sums * factor, along(c.input(7), -2), element_type_of(c.value(7)));
}

// A weight of a convolution without its zero point, which may be one for each channel.
TensorHandle centered_weight(Call& c, int weight, int zero_point) {
  const TensorHandle w = c.input(weight), zero = c.optional_input(zero_point);
  require(w.rank() >= 3, "[conv] expected a weight (M, C, ...): got {}", w.shape());
  if (!zero.defined() || zero.numel() == 1) return centered(w, zero, -1);
  Dims shape(w.rank(), 1);
  shape[0] = -1;
  return centered(w, fn::reshape(zero, shape), -1);
}

// Borders are zeros, which is the zero point.
Results conv_integer(Call& c) {
  const TensorHandle x = centered(c.input(0), c.optional_input(2), -1), w = centered_weight(c, 1, 3);
  const int64_t channels = w.shape()[1], taps = w.numel() / std::max<int64_t>(1, Checked(w.shape()[0]) * channels);
  const bool is_whole = c.integer("group", 1) != 1 || x.rank() < 2 || x.shape()[1] != channels;
  if (taps > kExactProducts || (is_whole && Checked(taps) * channels > kExactProducts))  // large kernels, and grouped ones
    return fn::cast(convolution(c, to(x, DType::float64), to(w, DType::float64), {}), DType::int32);
  if (is_whole) return fn::cast(convolution(c, x, w, {}), DType::int32);
  return sum_of_parts(channels, kExactProducts / std::max<int64_t>(1, taps),
      [&](int64_t from, int64_t to) { return convolution(c, fn::slice(x, 1, from, to), fn::slice(w, 1, from, to), {}); });
}

}  // namespace

TensorHandle qlinear_conv_of(Call& c, const TensorHandle& x) {
  TensorHandle sums = convolution(c, centered(x, c.optional_input(2), -1), centered_weight(c, 3, 5), {});
  Dims channels(sums.rank(), 1);
  channels[1] = -1;
  if (c.has_input(8)) sums = sums + to(fn::reshape(c.input(8), channels), DType::float32);
  const auto scale = [&](int i) {
    const TensorHandle s = to(c.input(i), DType::float32);
    return s.numel() == 1 ? fn::reshape(s, Dims()) : fn::reshape(s, channels);
  };
  const TensorHandle factor = scale(1) * scale(4) / scale(6);
  return saturated(sums * factor, fn::reshape(c.input(7), Dims()), element_type_of(c.value(7)));
}

namespace {

Results qlinear_conv(Call& c) { return qlinear_conv_of(c, c.input(0)); }

constexpr Operator kRows[] = {
    {"", "QuantizeLinear", 10, quantize_linear},
    {"", "DequantizeLinear", 10, dequantize_linear},
    {"", "DynamicQuantizeLinear", 11, dynamic_quantize_linear},
    {"", "MatMulInteger", 10, matmul_integer},
    {"", "QLinearMatMul", 10, qlinear_matmul},
    {"", "ConvInteger", 10, conv_integer},
    {"", "QLinearConv", 10, qlinear_conv},
    {"com.microsoft", "QuantizeLinear", 1, quantize_linear},
    {"com.microsoft", "DequantizeLinear", 1, dequantize_linear},
};

}  // namespace

std::span<const Operator> quantised_operators() { return kRows; }

}  // namespace pyburn::onnx
