// Quantised tensors: integers with a scale and a zero point. Sums of products are exact: in float32 where its 24 bits hold them, else
// in float64.
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

DType exact_for(int64_t products) { return products <= (int64_t(1) << 24) / (255 * 255) ? DType::float32 : DType::float64; }

TensorHandle centered(const TensorHandle& x, const TensorHandle& zero_point, DType dtype, int axis) {
  const TensorHandle numbers = to(x, dtype);
  if (!zero_point.defined()) return numbers;
  const TensorHandle zero = to(zero_point, dtype);
  if (zero.numel() == 1) return numbers - fn::reshape(zero, Dims());
  return numbers - (zero.rank() == 1 && axis == -2 ? fn::unsqueeze(zero, -1) : zero);
}
TensorHandle exact_matmul(Call& c, int a, int b, int a_zero, int b_zero, bool transpose_a, bool transpose_b) {
  const auto matrix = [&](int i, bool transpose) { return transpose ? fn::transpose(c.input(i), -1, -2) : c.input(i); };
  const TensorHandle left = matrix(a, transpose_a), right = matrix(b, transpose_b);
  const DType dtype = exact_for(left.rank() ? left.shape().back() : 1);
  return fn::matmul(centered(left, c.optional_input(a_zero), dtype, -2), centered(right, c.optional_input(b_zero), dtype, -1));
}
TensorHandle along(const TensorHandle& scale, int axis) {
  if (scale.numel() == 1) return fn::reshape(scale, Dims());
  return scale.rank() == 1 && axis == -2 ? fn::unsqueeze(scale, -1) : scale;
}

namespace {

Results matmul_integer(Call& c) { return fn::cast(exact_matmul(c, 0, 1, 2, 3), DType::int32); }

Results qlinear_matmul(Call& c) {
  const TensorHandle sums = exact_matmul(c, 0, 3, 2, 5);
  const TensorHandle factor =
      to(along(c.input(1), -2), DType::float32) * to(along(c.input(4), -1), DType::float32) / to(along(c.input(6), -2), DType::float32);
  const TensorHandle y = to(to(sums, DType::float64) * to(factor, DType::float64), DType::float32);
  return saturated(y, along(c.input(7), -2), element_type_of(c.value(7)));
}

// The convolution of integers without their zero points: exact. Borders are zeros, which is the zero point.
TensorHandle exact_conv(Call& c, const TensorHandle& x, int w_, int x_zero, int w_zero) {
  const TensorHandle w = c.input(w_);
  require(w.rank() >= 3, "[conv] expected a weight (M, C, ...): got {}", w.shape());
  const DType dtype = exact_for(w.numel() / std::max<int64_t>(1, w.shape()[0]));
  TensorHandle zero = c.optional_input(w_zero);
  if (zero.defined() && zero.numel() > 1) {
    Dims shape(w.rank(), 1);
    shape[0] = -1;
    zero = fn::reshape(zero, shape);
  }
  const TensorHandle weight =
      zero.defined() ? to(w, dtype) - (zero.numel() == 1 ? fn::reshape(to(zero, dtype), Dims()) : to(zero, dtype)) : to(w, dtype);
  return convolution(c, centered(x, c.optional_input(x_zero), dtype, -1), weight, {});
}

Results conv_integer(Call& c) { return fn::cast(exact_conv(c, c.input(0), 1, 2, 3), DType::int32); }

}  // namespace

TensorHandle qlinear_conv_of(Call& c, const TensorHandle& x) {
  TensorHandle sums = to(exact_conv(c, x, 3, 2, 5), DType::float64);
  Dims channels(sums.rank(), 1);
  channels[1] = -1;
  if (c.has_input(8)) sums = sums + to(fn::reshape(c.input(8), channels), DType::float64);
  const auto scale = [&](int i) {
    const TensorHandle s = to(c.input(i), DType::float32);
    return s.numel() == 1 ? fn::reshape(s, Dims()) : fn::reshape(s, channels);
  };
  const TensorHandle factor = scale(1) * scale(4) / scale(6);
  return saturated(to(sums * to(factor, DType::float64), DType::float32), fn::reshape(c.input(7), Dims()), element_type_of(c.value(7)));
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
