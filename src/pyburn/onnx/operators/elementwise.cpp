// Arithmetic and functions of single elements; conversions between dtypes.
#include <functional>

#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/bits.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

template <TensorHandle (*F)(const TensorHandle&)>
Results unary(Call& c) {
  return F(c.input(0));
}

Results add(Call& c) { return fn::add(c.input(0), c.input(1)); }
Results sub(Call& c) { return fn::sub(c.input(0), c.input(1)); }
Results mul(Call& c) { return fn::mul(c.input(0), c.input(1)); }
// Integers are divided towards zero.
Results div(Call& c) {
  const TensorHandle a = c.input(0), b = c.input(1);
  return is_integral(a.dtype()) ? fn::div(a, b, "trunc") : fn::div(a, b);
}
// The result has the dtype of the base.
Results pow(Call& c) {
  const TensorHandle base = c.input(0), exponent = c.input(1);
  if (base.dtype() == exponent.dtype() && is_floating(base.dtype())) return fn::pow(base, exponent);
  if (is_integral(base.dtype()) && is_integral(exponent.dtype())) return fn::cast(fn::pow(base, exponent), base.dtype());
  const DType wide = widest_float(c.device().backend());
  return fn::cast(fn::pow(fn::cast(base, wide), fn::cast(exponent, wide)), base.dtype());
}
// fmod=0: the sign of the divisor, as in Python; fmod=1: the sign of the dividend, as in C.
Results mod(Call& c) { return c.flag("fmod") ? fn::fmod(c.input(0), c.input(1)) : fn::remainder(c.input(0), c.input(1)); }

// Of any number of tensors, from the left.
template <class F>
TensorHandle fold(Call& c, const F& combine) {
  TensorHandle all = c.input(0);
  for (int i = 1; i < c.inputs(); ++i) all = combine(all, c.input(i));
  return all;
}
Results max(Call& c) {
  return fold(c, [](const TensorHandle& a, const TensorHandle& b) { return fn::maximum(a, b); });
}
Results min(Call& c) {
  return fold(c, [](const TensorHandle& a, const TensorHandle& b) { return fn::minimum(a, b); });
}
TensorHandle sum_of(Call& c) {
  return fold(c, [](const TensorHandle& a, const TensorHandle& b) { return fn::add(a, b); });
}
Results sum(Call& c) { return sum_of(c); }
Results mean(Call& c) { return fn::div(sum_of(c), double(c.inputs())); }

Results bit_shift(Call& c) {
  const std::string direction = c.text("direction");
  require<FormatError>(direction == "LEFT" || direction == "RIGHT", "[onnx] direction must be LEFT or RIGHT: got '{}'", direction);
  return direction == "LEFT" ? fn::bitwise_left_shift(c.input(0), c.input(1)) : fn::bitwise_right_shift(c.input(0), c.input(1));
}

// A bound as a number, where it is known, so that one operation does it all.
std::optional<Scalar> bound(Call& c, const char* attribute, int i, DType dtype) {
  if (c.has_input(i)) return is_floating(dtype) ? Scalar(c.read_number(i)) : Scalar(c.read_integer(i));
  return c.has(attribute) ? std::optional<Scalar>(c.real(attribute)) : std::nullopt;
}
Results clip(Call& c) {
  const TensorHandle x = c.input(0);
  const auto is_computed = [&](int i) { return c.has_input(i) && !c.value(i).is_on_host(); };
  if (is_computed(1) || is_computed(2)) return fn::clamp(x, c.optional_input(1), c.optional_input(2));
  const std::optional<Scalar> low = bound(c, "min", 1, x.dtype()), high = bound(c, "max", 2, x.dtype());
  return low || high ? fn::clamp(x, low, high) : x;
}

Results identity(Call& c) { return c.value(0); }

Results bit_cast(Call& c) { return fn::view(c.input(0), c.dtype("to")); }

Results where(Call& c) { return fn::where(c.input(0), c.input(1), c.input(2)); }

constexpr Operator kRows[] = {
    {"", "Add", 7, add},
    {"", "Sub", 7, sub},
    {"", "Mul", 7, mul},
    {"", "Div", 7, div},
    {"", "Pow", 7, pow},
    {"", "Mod", 10, mod},
    {"", "Max", 1, max},
    {"", "Min", 1, min},
    {"", "Sum", 1, sum},
    {"", "Mean", 1, mean},
    {"", "Neg", 1, unary<fn::neg>},
    {"", "Abs", 1, unary<fn::abs>},
    {"", "Sign", 9, unary<fn::sign>},
    {"", "Reciprocal", 1, unary<fn::reciprocal>},
    {"", "Floor", 1, unary<fn::floor>},
    {"", "Ceil", 1, unary<fn::ceil>},
    {"", "Round", 11, [](Call& c) -> Results { return fn::round(c.input(0)); }},
    {"", "Sqrt", 1, unary<fn::sqrt>},
    {"", "Exp", 1, unary<fn::exp>},
    {"", "Log", 1, unary<fn::log>},
    {"", "Erf", 9, unary<fn::erf>},
    {"", "Sin", 7, unary<fn::sin>},
    {"", "Cos", 7, unary<fn::cos>},
    {"", "Tan", 7, unary<fn::tan>},
    {"", "Asin", 7, unary<fn::asin>},
    {"", "Acos", 7, unary<fn::acos>},
    {"", "Atan", 7, unary<fn::atan>},
    {"", "Sinh", 9, unary<fn::sinh>},
    {"", "Cosh", 9, unary<fn::cosh>},
    {"", "Asinh", 9, unary<fn::asinh>},
    {"", "Acosh", 9, unary<fn::acosh>},
    {"", "Atanh", 9, unary<fn::atanh>},
    {"", "BitShift", 11, bit_shift},
    {"", "BitwiseAnd", 18, [](Call& c) -> Results { return fn::bitwise_and(c.input(0), c.input(1)); }},
    {"", "BitwiseOr", 18, [](Call& c) -> Results { return fn::bitwise_or(c.input(0), c.input(1)); }},
    {"", "BitwiseXor", 18, [](Call& c) -> Results { return fn::bitwise_xor(c.input(0), c.input(1)); }},
    {"", "BitwiseNot", 18, unary<fn::bitwise_not>},
    {"", "Clip", 1, clip, inputs_at(1, 2)},
    {"", "Identity", 1, identity},
    {"", "BitCast", 26, bit_cast},
    {"", "Where", 9, where},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kRows; }

}  // namespace pyburn::onnx
