// Elementwise operations. Numbers among the operands become 0-d constants.
#include <cmath>
#include <numbers>

#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/pointwise.h"
#include "pyburn/ops/unary.h"

namespace pyburn::onnx {
namespace {

void write_same(const ExportCall& c) {
  Names inputs;
  for (int64_t i = 0; i < c.inputs(); ++i) inputs.push_back(c.in(i));
  c.make(c.type, inputs);
}

// Both operands, one of which may be a number.
template <class A>
std::pair<std::string, std::string> operands(const ExportCall& c) {
  const A& a = c.as<A>();
  if (a.scalar == Side::left) return {c.number(a.value), c.in(0)};
  if (a.scalar == Side::right) return {c.in(0), c.number(a.value)};
  return {c.in(0), c.in(1)};
}

void write_binary(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  c.make(c.type, {a, b});
}
void write_additive(const ExportCall& c) {
  auto [a, b] = operands<Additive>(c);
  if (const Scalar& alpha = c.as<Additive>().alpha; alpha.to_double() != 1) b = c.add("Mul", {b, c.number(alpha)});
  if (c.meta(0).dtype == DType::boolean) c.make("Or", {a, b});
  else c.make(c.type, {a, b});
}
void write_mul(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  c.make(c.meta(0).dtype == DType::boolean ? "And" : "Mul", {a, b});
}
void write_ne(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  c.make("Not", {c.add("Equal", {a, b})});
}
void write_where(const ExportCall& c) {
  const Where& a = c.as<Where>();
  const DType dtype = c.result().dtype;
  std::string first = c.in(1), second = c.in(2);
  if (a.scalar == Side::left) second = first, first = c.writer.number(a.value, dtype);
  if (a.scalar == Side::right) second = c.writer.number(a.value, dtype);
  if (a.scalar == Side::both) first = c.writer.number(a.value, dtype), second = c.writer.number(a.other, dtype);
  c.make("Where", {c.in(0), first, second});
}

// Division rounds down, and the remainder has the sign of the divisor.
void write_floor_divide(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  if (is_floating(c.meta(0).dtype)) return c.make("Floor", {c.add("Div", {a, b})});
  c.make("Div", {c.add("Sub", {a, c.add("Mod", {a, b})}), b});
}
void write_remainder(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  if (!is_floating(c.meta(0).dtype)) return c.make("Mod", {a, b});
  c.make("Sub", {a, c.add("Mul", {c.add("Floor", {c.add("Div", {a, b})}), b})});
}
void write_fmod(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  c.make("Mod", {a, b}, {flag("fmod", true)});
}

void write_logic(const ExportCall& c) {
  Names inputs;
  for (int64_t i = 0; i < c.inputs(); ++i) inputs.push_back(c.in_as(i, DType::boolean));
  c.make(c.type, inputs);
}
void write_bits(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  const std::string type = c.type;
  c.make(c.meta(0).dtype == DType::boolean ? type : "Bitwise" + type, {a, b});
}

void write_cast(const ExportCall& c) {
  if (c.meta(0).dtype == c.result().dtype) return c.make("Identity", {c.in(0)});
  c.writer.bind(c.node.out[0], c.in_as(0, c.result().dtype));
}

// f(x) in terms of other functions.
void write_trunc(const ExportCall& c) { c.make("Mul", {c.add("Sign", {c.in(0)}), c.add("Floor", {c.add("Abs", {c.in(0)})})}); }
void write_rsqrt(const ExportCall& c) { c.make("Reciprocal", {c.add("Sqrt", {c.in(0)})}); }
void write_exp2(const ExportCall& c) { c.make("Pow", {c.number(2.0), c.in(0)}); }
void write_expm1(const ExportCall& c) { c.make("Sub", {c.add("Exp", {c.in(0)}), c.number(1.0)}); }
void write_log1p(const ExportCall& c) { c.make("Log", {c.add("Add", {c.in(0), c.number(1.0)})}); }
void write_log2(const ExportCall& c) { c.make("Mul", {c.add("Log", {c.in(0)}), c.number(std::numbers::log2e)}); }
void write_log10(const ExportCall& c) { c.make("Mul", {c.add("Log", {c.in(0)}), c.number(std::numbers::log10e)}); }
void write_erfc(const ExportCall& c) { c.make("Sub", {c.number(1.0), c.add("Erf", {c.in(0)})}); }
void write_round(const ExportCall& c) {
  const int64_t decimals = c.as<Round>().decimals;
  if (decimals == 0) return c.make("Round", {c.in(0)});
  const std::string scale = c.number(std::pow(10.0, double(decimals)));
  c.make("Div", {c.add("Round", {c.add("Mul", {c.in(0), scale})}), scale});
}
void write_isfinite(const ExportCall& c) { c.make("Not", {c.add("Or", {c.add("IsInf", {c.in(0)}), c.add("IsNaN", {c.in(0)})})}); }
void write_nan_to_num(const ExportCall& c) {
  const NanToNum& a = c.as<NanToNum>();
  const std::string x = c.add("Where", {c.add("IsNaN", {c.in(0)}), c.number(a.nan), c.in(0)});
  const std::string y = c.add("Where", {c.add("IsInf", {c.in(0)}, {flag("detect_negative", false)}), c.number(a.posinf), x});
  c.make("Where", {c.add("IsInf", {c.in(0)}, {flag("detect_positive", false)}), c.number(a.neginf), y});
}
void write_hypot(const ExportCall& c) {
  c.make("Sqrt", {c.add("Add", {c.add("Mul", {c.in(0), c.in(0)}), c.add("Mul", {c.in(1), c.in(1)})})});
}
void write_lerp(const ExportCall& c) {
  const std::string weight = c.as<Lerp>().weight ? c.number(*c.as<Lerp>().weight) : c.in(2);
  c.make("Add", {c.in(0), c.add("Mul", {weight, c.add("Sub", {c.in(1), c.in(0)})})});
}
void write_addproduct(const ExportCall& c) {
  std::string product = c.add(c.type, {c.in(1), c.in(2)});
  if (const Scalar& value = c.as<AddProduct>().value; value.to_double() != 1) product = c.add("Mul", {product, c.number(value)});
  c.make("Add", {c.in(0), product});
}
void write_clamp(const ExportCall& c) {
  const Clamp& a = c.as<Clamp>();
  const auto bound = [&](const std::optional<Scalar>& v) { return v ? c.number(*v) : std::string(); };
  c.make("Clip", {c.in(0), bound(a.min), bound(a.max)});
}
// The other operand where one is NaN.
void write_fmax(const ExportCall& c) {
  const auto [a, b] = operands<Binary>(c);
  const std::string both = c.add(c.type, {a, b});
  c.make("Where", {c.add("IsNaN", {a}), b, c.add("Where", {c.add("IsNaN", {b}), a, both})});
}

constexpr ExportRow kRows[] = {
    {"cast", write_cast},
    {"neg", write_same, "Neg"},
    {"abs", write_same, "Abs"},
    {"sign", write_same, "Sign"},
    {"floor", write_same, "Floor"},
    {"ceil", write_same, "Ceil"},
    {"trunc", write_trunc},
    {"round", write_round},
    {"sqrt", write_same, "Sqrt"},
    {"rsqrt", write_rsqrt},
    {"nan_to_num", write_nan_to_num},
    {"exp", write_same, "Exp"},
    {"exp2", write_exp2},
    {"expm1", write_expm1},
    {"log", write_same, "Log"},
    {"log2", write_log2},
    {"log10", write_log10},
    {"log1p", write_log1p},
    {"sin", write_same, "Sin"},
    {"cos", write_same, "Cos"},
    {"tan", write_same, "Tan"},
    {"asin", write_same, "Asin"},
    {"acos", write_same, "Acos"},
    {"atan", write_same, "Atan"},
    {"sinh", write_same, "Sinh"},
    {"cosh", write_same, "Cosh"},
    {"tanh", write_same, "Tanh"},
    {"asinh", write_same, "Asinh"},
    {"acosh", write_same, "Acosh"},
    {"atanh", write_same, "Atanh"},
    {"erf", write_same, "Erf"},
    {"erfc", write_erfc},
    {"add", write_additive, "Add", true},
    {"sub", write_additive, "Sub", true},
    {"mul", write_mul, "Mul", true},
    {"div", write_binary, "Div", true},
    {"pow", write_binary, "Pow", true},
    {"maximum", write_binary, "Max", true},
    {"minimum", write_binary, "Min", true},
    {"fmax", write_fmax, "Max", true},
    {"fmin", write_fmax, "Min", true},
    {"eq", write_binary, "Equal", true},
    {"ne", write_ne, "", true},
    {"lt", write_binary, "Less", true},
    {"le", write_binary, "LessOrEqual", true},
    {"gt", write_binary, "Greater", true},
    {"ge", write_binary, "GreaterOrEqual", true},
    {"where", write_where, "", true},
    {"floor_divide", write_floor_divide, "", true},
    {"remainder", write_remainder, "", true},
    {"fmod", write_fmod, "", true},
    {"hypot", write_hypot, "", true},
    {"isinf", write_same, "IsInf"},
    {"isfinite", write_isfinite},
    {"logical_not", write_logic, "Not"},
    {"logical_and", write_logic, "And", true},
    {"logical_or", write_logic, "Or", true},
    {"logical_xor", write_logic, "Xor", true},
    {"bitwise_and", write_bits, "And", true},
    {"bitwise_or", write_bits, "Or", true},
    {"bitwise_xor", write_bits, "Xor", true},
    {"lerp", write_lerp, "", true},
    {"addcmul", write_addproduct, "Mul", true},
    {"addcdiv", write_addproduct, "Div", true},
    {"clamp", write_clamp},
};

}  // namespace

ExportRows elementwise_rows() { return kRows; }

}  // namespace pyburn::onnx
