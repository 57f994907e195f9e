// Conversions between element types: numbers, strings, and elements of few bits.
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/low_bits.h"
#include "pyburn/onnx/operators/string_tensors.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Integers of 2 and 4 bits keep the low bits.
TensorHandle wrapped(const TensorHandle& x, ElementType type) {
  const ElementTypeInfo& info = element_type_info(int64_t(type));
  const int64_t count = int64_t(1) << info.bits;
  const TensorHandle y = fn::remainder(fn::cast(x, DType::int32), count);
  const bool has_sign = is_signed_integer(*info.dtype);
  return fn::cast(has_sign ? fn::where(fn::ge(y, count / 2), y - count, y) : y, *info.dtype);
}

std::string text_of(double v, DType dtype) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "INF" : "-INF";
  char buffer[64];
  const auto end =
      dtype == DType::float64 ? std::to_chars(buffer, buffer + sizeof buffer, v) : std::to_chars(buffer, buffer + sizeof buffer, float(v));
  return {buffer, end.ptr};
}
Value as_texts(const TensorHandle& x) {
  const bool whole = is_integral(x.dtype());
  std::vector<std::string> items;
  const auto read = [&]<class T>(DType dtype, T) {
    const TensorHandle plain = x.dtype() == dtype ? x : fn::cast(x, dtype);
    std::vector<T> values(size_t(plain.numel()));
    to_host(plain, {values.data(), plain.meta()});
    for (const T v : values) {
      if constexpr (std::is_integral_v<T>) items.push_back(std::to_string(v));
      else items.push_back(text_of(v, x.dtype()));
    }
  };
  whole ? read(DType::int64, int64_t()) : read(DType::float64, double());
  return make_ref<Strings>(x.shape(), std::move(items));
}

double number_of(const std::string& text) {
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);  // knows inf and nan in letters of any case
  require<ValueError>(end != text.c_str() && *end == 0, "[cast] not a number: got '{}'", text);
  return v;
}
TensorHandle as_numbers(Call& c, const Strings& texts, DType dtype) {
  if (is_floating(dtype)) {
    std::vector<double> values;
    for (const std::string& text : texts.items) values.push_back(number_of(text));
    return moved_to(c.device(), fn::cast(from_host(host_device(), {values.data(), {texts.shape, DType::float64}}), dtype));
  }
  std::vector<int64_t> values;
  for (const std::string& text : texts.items) {
    int64_t v = 0;
    const char *begin = text.data() + (text.starts_with('+') ? 1 : 0), *end = text.data() + text.size();
    const auto [last, error] = std::from_chars(begin, end, v);
    if (error != std::errc() || last != end) {
      const double number = number_of(text);
      require<ValueError>(std::abs(number) < 9e18, "[cast] out of the range of int64: got '{}'", text);
      v = int64_t(number);
    }
    values.push_back(v);
  }
  return moved_to(c.device(), fn::cast(from_host(host_device(), {values.data(), {texts.shape, DType::int64}}), dtype));
}

Results cast_to(Call& c, ElementType type) {
  const Value& v = c.value(0);
  if (type == ElementType::string) return v.is_strings() ? v : as_texts(decoded(v, c.input(0)));
  if (v.is_strings()) {
    if (is_float_code(type)) return encoded(as_numbers(c, v.strings(), DType::float32), type, c.flag("saturate", true));
    return as_numbers(c, v.strings(), dtype_of(int64_t(type)));
  }
  if (element_type_of(v) == type) return v;
  const TensorHandle x = decoded(v, c.input(0));
  if (is_float_code(type)) return encoded(x, type, c.flag("saturate", true), c.text("round_mode", "up"));
  if (is_small_integer(type)) return tagged(wrapped(x, type), type);
  const DType dtype = dtype_of(int64_t(type));
  return x.dtype() == dtype ? x : fn::cast(x, dtype);
}
Results cast(Call& c) { return cast_to(c, ElementType(c.integer("to"))); }
Results cast_like(Call& c) { return cast_to(c, element_type_of(c.value(1))); }

constexpr Operator kRows[] = {
    {"", "Cast", 6, cast},
    {"", "CastLike", 15, cast_like, inputs_at(1)},
};

}  // namespace

std::span<const Operator> cast_operators() { return kRows; }

}  // namespace pyburn::onnx
