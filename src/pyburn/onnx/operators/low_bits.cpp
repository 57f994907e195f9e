#include "pyburn/onnx/operators/low_bits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/search.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// How a float of few bits is built. Codes with the sign bit left out run through the numbers in order.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  int largest;            // the code of the largest finite number
  int infinity;           // what overflows becomes without saturation; -1: there is no such code
  int nan;                // -1: there is none
  bool zero_is_unsigned;  // the code of -0 is NaN
  int sign;               // the bit of the sign; 0: there are no negative numbers
};
FloatFormat format_of(ElementType type) {
  switch (type) {
    case ElementType::float8e4m3fn:
      return {4, 3, 7, 0x7e, 0x7f, 0x7f, false, 0x80};
    case ElementType::float8e4m3fnuz:
      return {4, 3, 8, 0x7f, 0x80, 0x80, true, 0x80};
    case ElementType::float8e5m2:
      return {5, 2, 15, 0x7b, 0x7c, 0x7e, false, 0x80};
    case ElementType::float8e5m2fnuz:
      return {5, 2, 16, 0x7f, 0x80, 0x80, true, 0x80};
    case ElementType::float8e8m0:
      return {8, 0, 127, 0xfe, 0xff, 0xff, false, 0};
    default:
      return {2, 1, 1, 0x7, -1, -1, false, 0x8};  // float4e2m1
  }
}

// The number of a code without its sign. float8e8m0 has no zero and no subnormal numbers.
double magnitude(const FloatFormat& f, int code) {
  const int exponent = code >> f.mantissa_bits, mantissa = code & ((1 << f.mantissa_bits) - 1);
  const double fraction = double(mantissa) / double(1 << f.mantissa_bits);
  if (exponent == 0 && f.sign != 0) return std::ldexp(fraction, 1 - f.bias);
  return std::ldexp(1 + fraction, exponent - f.bias);
}

TensorHandle decode(const TensorHandle& codes, ElementType type) {
  const FloatFormat f = format_of(type);
  const int count = f.sign ? 2 * f.sign : 256;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> numbers;
  for (int code = 0; code < count; ++code) {
    const int bare = f.sign ? code & (f.sign - 1) : code;
    const bool negative = f.sign && (code & f.sign);
    float v = float(magnitude(f, bare));
    if (code == f.nan || (bare > f.largest && !(f.infinity != f.nan && bare == f.infinity))) v = nan;
    else if (bare > f.largest) v = std::numeric_limits<float>::infinity();
    numbers.push_back(negative && !std::isnan(v) ? -v : v);
  }
  const TensorHandle table = reals_on(codes.device(), std::move(numbers), {count});
  return fn::reshape(fn::index_select(table, 0, fn::cast(fn::reshape(codes, {-1}), DType::int64)), codes.shape());
}

// From where on a number belongs to a code above 0, for codes up to the one after the largest.
std::vector<float> lower_bounds(const FloatFormat& f, std::string_view round) {
  constexpr float up = std::numeric_limits<float>::infinity();
  std::vector<float> bounds;
  for (int code = 1; code <= f.largest + 1; ++code) {
    const double below = magnitude(f, code - 1), above = code > 254 && f.sign == 0 ? 2 * below : magnitude(f, code);
    const bool down = f.sign == 0 && round == "down", ceils = f.sign == 0 && round == "up";
    const float bound = float(down ? above : ceils ? below : (below + above) / 2);
    const bool tie_goes_up = down || (!ceils && (code % 2 == 0 || f.sign == 0));  // to the even code; of powers of two, to the larger
    bounds.push_back(tie_goes_up ? bound : std::nextafter(bound, up));
  }
  return bounds;
}

}  // namespace

bool is_float_code(ElementType type) {
  switch (type) {
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
    case ElementType::float8e8m0:
    case ElementType::float4e2m1:
      return true;
    default:
      return false;
  }
}
bool is_small_integer(ElementType type) {
  return type == ElementType::int4 || type == ElementType::uint4 || type == ElementType::int2 || type == ElementType::uint2;
}

ElementType element_type_of(const Value& v) {
  if (v.is_strings()) return ElementType::string;
  require<FormatError>(v.is_tensor(), "[onnx] expected a tensor: got {}", to_text(v));
  return v.element() == ElementType::undefined ? element_type_of(v.tensor().dtype()) : v.element();
}

std::pair<double, double> range_of(ElementType type) {
  const ElementTypeInfo& info = element_type_info(int64_t(type));
  require<FormatError>(info.dtype && is_integral(*info.dtype) && info.bits <= 32,
      "[onnx] quantised tensors are integers of at most 32 bits: got {}", info.name);
  if (is_unsigned_integer(*info.dtype)) return {0, std::ldexp(1, info.bits) - 1};
  return {-std::ldexp(1, info.bits - 1), std::ldexp(1, info.bits - 1) - 1};
}

TensorHandle decoded(const Value& v, const TensorHandle& x) { return is_float_code(v.element()) ? decode(x, v.element()) : x; }

Value tagged(TensorHandle x, ElementType type) {
  Value v(std::move(x));
  if (is_float_code(type) || is_small_integer(type)) v.set_element(type);
  return v;
}

Value encoded(const TensorHandle& given, ElementType type, bool saturate, std::string_view round) {
  const FloatFormat f = format_of(type);
  const TensorHandle x = given.dtype() == DType::float32 ? given : fn::cast(given, DType::float32);
  std::vector<float> bounds = lower_bounds(f, round);
  const auto count = int64_t(bounds.size());
  const TensorHandle table = reals_on(x.device(), std::move(bounds), {count});
  TensorHandle code = fn::searchsorted(table, fn::reshape(fn::abs(x), {-1}), false, true);
  code = fn::reshape(code, x.shape());
  const TensorHandle too_large = fn::gt(code, f.largest), largest = fn::clamp(code, {}, f.largest);
  TensorHandle y = largest;
  if (f.sign) {
    const TensorHandle negative = fn::signbit(x);
    y = fn::where(f.zero_is_unsigned ? fn::logical_and(negative, fn::gt(largest, 0)) : negative, largest + f.sign, largest);
    if (!saturate && f.infinity >= 0) {
      const TensorHandle outside =
          f.infinity == f.nan ? fn::full_like(y, f.infinity) : fn::where(negative, fn::full_like(y, f.infinity + f.sign), f.infinity);
      y = fn::where(too_large, outside, y);
    }
  } else {
    if (!saturate) y = fn::where(too_large, int64_t(f.infinity), y);
    y = fn::where(fn::lt(x, 0), int64_t(f.nan), y);
  }
  y = fn::where(fn::isnan(x), int64_t(f.nan >= 0 ? f.nan : f.sign), y);  // -0 where there is no NaN
  return tagged(fn::cast(y, DType::uint8), type);
}

}  // namespace pyburn::onnx
