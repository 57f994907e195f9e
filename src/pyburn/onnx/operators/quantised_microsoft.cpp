// The quantised operators of com.microsoft: functions of numbers on quantised ones, and products that take or give numbers.
#include "pyburn/onnx/operators/low_bits.h"
#include "pyburn/onnx/operators/quantised.h"
#include "pyburn/onnx/operators/windows.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

TensorHandle to(const TensorHandle& x, DType dtype) { return x.dtype() == dtype ? x : fn::cast(x, dtype); }

// x as (N, C, ...) from (N, ..., C), and back.
TensorHandle channels_first(const TensorHandle& x) { return fn::movedim(x, {-1}, {1}); }
TensorHandle channels_last(const TensorHandle& x) { return fn::movedim(x, {1}, {-1}); }

Results matmul_integer_to_float(Call& c) {
  const TensorHandle sums = centered_matmul(c, 0, 1, 4, 5);
  const TensorHandle y = sums * along(c.input(2), -2) * along(c.input(3), -1);
  return c.has_input(6) ? y + c.input(6) : y;
}

Results dynamic_quantize_matmul(Call& c) {
  const TensorHandle x = c.input(0), b = c.input(1);
  const TensorHandle high = fn::clamp(fn::amax(x), 0.0), low = fn::clamp(fn::amin(x), {}, 0.0);
  const TensorHandle range = (high - low) / 255.0, scale = fn::where(fn::gt(range, 0), range, 1.0);
  const TensorHandle zero_point = fn::round(fn::clamp(fn::neg(low) / scale, 0.0, 255.0));
  const TensorHandle whole = fn::clamp(fn::round(x / scale) + zero_point, 0.0, 255.0) - zero_point;
  const TensorHandle sums = fn::matmul(whole, centered(b, c.optional_input(3), -1));
  const TensorHandle y = sums * (scale * along(c.input(2), -1));
  return c.has_input(4) ? y + c.input(4) : y;
}

// A function of numbers, on quantised ones: inputs (x, scale, zero point) from `first` on, the scale and zero point of the result at `out`.
TensorHandle number_at(Call& c, int first) {
  const TensorHandle x = to(c.input(first), DType::float32);
  const TensorHandle centered_x = c.has_input(first + 2) ? x - to(c.input(first + 2), DType::float32) : x;
  return centered_x * c.input(first + 1);
}
TensorHandle requantized(Call& c, const TensorHandle& y, int out, int like) {
  const ElementType type = element_type_of(c.has_input(out + 1) ? c.value(out + 1) : c.value(like));
  return saturated(y / c.input(out), c.optional_input(out + 1), type);
}
Results qlinear_add(Call& c) { return requantized(c, number_at(c, 0) + number_at(c, 3), 6, 0); }
Results qlinear_mul(Call& c) { return requantized(c, number_at(c, 0) * number_at(c, 3), 6, 0); }
Results qlinear_sigmoid(Call& c) { return requantized(c, fn::sigmoid(number_at(c, 0)), 3, 0); }
Results qlinear_leaky_relu(Call& c) {
  const TensorHandle x = number_at(c, 0);
  return requantized(c, fn::where(fn::lt(x, 0), x * c.real("alpha", 0.01), x), 3, 0);
}
Results qlinear_where(Call& c) { return requantized(c, fn::where(fn::ne(c.input(0), 0), number_at(c, 1), number_at(c, 4)), 7, 1); }
Results qlinear_softmax(Call& c) {
  const TensorHandle x = number_at(c, 0);
  const int axis = normalise_dim(c.integer("axis", -1), x.rank());
  // Before version 13 softmax ran over all axes from the given one on.
  const bool rows = c.integer("opset", 13) < 13 && axis + 1 < x.rank();
  return requantized(c, rows ? fn::reshape(fn::softmax(fn::flatten(x, axis), -1), x.shape()) : fn::softmax(x, axis), 3, 0);
}
Results qlinear_reduce_mean(Call& c) {
  const TensorHandle x = number_at(c, 0);
  return requantized(c, fn::mean(x, c.integers("axes", Dims()), c.flag("keepdims", true)), 3, 0);
}
// Scale and zero point of the result, then (x, scale, zero point) of each part.
Results qlinear_concat(Call& c) {
  Tensors parts;
  for (int i = 2; i + 2 < c.inputs(); i += 3) parts.push_back(number_at(c, i));
  require<FormatError>(!parts.empty(), "[qlinear_concat] there is nothing to concatenate");
  return requantized(c, fn::cat(parts, c.integer("axis")), 0, 2);
}

// Pools of numbers: the operator of the standard on them.
Results qlinear_pool(Call& c, bool global) {
  const bool last = c.flag("channels_last");
  const TensorHandle given = number_at(c, 0), x = last ? channels_first(given) : given;
  const TensorHandle y = global ? global_averages(x) : averages(c, x);
  return requantized(c, last ? channels_last(y) : y, 3, 0);
}
Results qlinear_average_pool(Call& c) { return qlinear_pool(c, false); }
Results qlinear_global_average_pool(Call& c) { return qlinear_pool(c, true); }
Results nhwc_max_pool(Call& c) { return channels_last(maxima(c, channels_first(c.input(0)))); }
Results nhwc_qlinear_conv(Call& c) {
  if (!c.flag("channels_last")) return qlinear_conv_of(c, c.input(0));
  return channels_last(qlinear_conv_of(c, channels_first(c.input(0))));
}

// alpha A B + C, as integers with a scale, or as numbers where no scale is given.
Results qgemm(Call& c) {
  TensorHandle sums = centered_matmul(c, 0, 3, 2, 5, c.flag("transA"), c.flag("transB"));
  const TensorHandle scale = c.input(1) * along(c.input(4), -1) * c.real("alpha", 1);
  if (c.has_input(6)) sums = sums + to(c.input(6), sums.dtype());
  const TensorHandle y = sums * scale;
  if (!c.has_input(7)) return y;
  return requantized(c, y, 7, 0);
}

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr Operator kRows[] = {
    {kMicrosoft, "MatMulIntegerToFloat", 1, matmul_integer_to_float},
    {kMicrosoft, "DynamicQuantizeMatMul", 1, dynamic_quantize_matmul},
    {kMicrosoft, "QGemm", 1, qgemm},
    {kMicrosoft, "QLinearAdd", 1, qlinear_add},
    {kMicrosoft, "QLinearMul", 1, qlinear_mul},
    {kMicrosoft, "QLinearWhere", 1, qlinear_where},
    {kMicrosoft, "QLinearConcat", 1, qlinear_concat},
    {kMicrosoft, "QLinearSigmoid", 1, qlinear_sigmoid},
    {kMicrosoft, "QLinearLeakyRelu", 1, qlinear_leaky_relu},
    {kMicrosoft, "QLinearSoftmax", 1, qlinear_softmax},
    {kMicrosoft, "QLinearReduceMean", 1, qlinear_reduce_mean},
    {kMicrosoft, "QLinearAveragePool", 1, qlinear_average_pool},
    {kMicrosoft, "QLinearGlobalAveragePool", 1, qlinear_global_average_pool},
    {kMicrosoft, "QLinearConv", 1, nhwc_qlinear_conv},
    {kMicrosoft, "NhwcMaxPool", 1, nhwc_max_pool},
};

}  // namespace

std::span<const Operator> quantised_microsoft_operators() { return kRows; }

}  // namespace pyburn::onnx
