// Functions of one element.
#include "pyburn/ops/unary.h"

#include "pyburn/backends/wgpu/elementwise.h"
#include "pyburn/ops/activation.h"

namespace pyburn::wgpu {
namespace {

// An expression of the element and of numbers that the attributes give.
template <class A, auto numbers>
Element with_numbers(OpRef op, std::span<const DType> in, const char* code) {
  const Word type = word_of(in[0]);
  Element e{code, type, {}};
  e.from_input(0, type);
  for (const Scalar& number : numbers(op.as<A>())) e.from_number(number, type);
  return e;
}

Element round(OpRef op, std::span<const DType> in, DType) {
  const int64_t decimals = op.as<Round>().decimals;
  const Word type = word_of(in[0]);
  Element e{type == Word::f32 ? "round(a)" : "a", type, {}};
  e.from_input(0, type);
  if (type != Word::f32 || decimals == 0) return e;
  e.code = decimals > 0 ? "round(a * b) / b" : "round(a / b) * b";
  return e.from_number(std::pow(10.0, std::abs(double(decimals))), type);
}
Element nan_to_num(OpRef op, std::span<const DType> in, DType) {
  if (word_of(in[0]) != Word::f32) return Element{"a", word_of(in[0]), {}}.from_input(0, word_of(in[0]));
  return with_numbers<NanToNum, [](const NanToNum& a) {
    return std::array<Scalar, 3>{a.nan, a.posinf, a.neginf};
  }>(op, in, "select(select(select(a, d, is_inf(a) && a < 0.0), c, is_inf(a) && a > 0.0), b, is_nan(a))");
}

Element leaky_relu(OpRef op, std::span<const DType> in, DType) {
  return with_numbers<LeakyRelu, [](const LeakyRelu& a) { return std::array<Scalar, 1>{a.negative_slope}; }>(
      op, in, "select(a * b, a, a > 0.0)");
}
Element elu(OpRef op, std::span<const DType> in, DType) {
  return with_numbers<Elu, [](const Elu& a) {
    return std::array<Scalar, 3>{a.alpha * a.scale, a.scale, a.input_scale};
  }>(op, in, "select(b * expm1_f32(a * d), c * a, a > 0.0)");
}
Element softplus(OpRef op, std::span<const DType> in, DType) {
  return with_numbers<Softplus, [](const Softplus& a) {
    return std::array<Scalar, 2>{a.beta, a.threshold};
  }>(op, in, "select(log1p_f32(exp(a * b)) / b, a, a * b > c)");
}
Element hardtanh(OpRef op, std::span<const DType> in, DType) {
  if (word_of(in[0]) != Word::f32) return {};
  return with_numbers<Hardtanh, [](const Hardtanh& a) {
    return std::array<Scalar, 2>{a.min, a.max};
  }>(op, in, "select(select(a, b, a < b && !is_nan(a)), c, a > c && !is_nan(a))");
}
Element softshrink(OpRef op, std::span<const DType> in, DType) {
  return with_numbers<Shrink, [](const Shrink& a) { return std::array<Scalar, 1>{a.lambd}; }>(
      op, in, "select(select(select(0.0, a + b, a < -b), a - b, a > b), a, is_nan(a))");
}
Element hardshrink(OpRef op, std::span<const DType> in, DType) {
  return with_numbers<Shrink, [](const Shrink& a) { return std::array<Scalar, 1>{a.lambd}; }>(
      op, in, "select(a, 0.0, a >= -b && a <= b && !is_nan(a))");
}
Element threshold(OpRef op, std::span<const DType> in, DType) {
  const Word type = word_of(in[0]);
  const char* code = type == Word::f32       ? "select(a, c, a <= b && !is_nan(a))"
                     : type == Word::i64     ? "i64_select(c, a, i64_lt(b, a))"
                     : type == Word::u64     ? "i64_select(c, a, u64_lt(b, a))"
                     : type == Word::boolean ? ""
                                             : "select(a, c, a <= b)";
  return with_numbers<Threshold, [](const Threshold& a) { return std::array<Scalar, 2>{a.threshold, a.value}; }>(op, in, code);
}
Element gelu(OpRef op, std::span<const DType> in, DType) {
  const char* code =
      op.as<Gelu>().tanh ? "0.5 * a * (1.0 + tanh_f32(0.79788456 * (a + 0.044715 * a * a * a)))" : "0.5 * a * erfc_f32(-0.70710678 * a)";
  return Element{code, word_of(in[0]), {}}.from_input(0, word_of(in[0]));
}

void add_activations(Elements& t) {
  t.add_unary("relu", {.f32 = "select(0.0, a, a > 0.0 || is_nan(a))",
                          .i32 = "max(a, 0)",
                          .u32 = "a",
                          .i64 = "i64_select(a, vec2<u32>(0u, 0u), i64_negative(a))",
                          .u64 = "a"});
  t.add_unary("sigmoid", {.f32 = "1.0 / (1.0 + exp(-a))"});
  t.add_unary("silu", {.f32 = "a / (1.0 + exp(-a))"});
  t.add_unary("mish", {.f32 = "select(a * tanh_f32(log1p_f32(exp(a))), a, a > 20.0)"});
  t.add_unary("logsigmoid", {.f32 = "select(0.0, a, a < 0.0 || is_nan(a)) - log1p_f32(exp(-abs(a)))"});
  t.add_unary("hardswish", {.f32 = "a * clamp(a + 3.0, 0.0, 6.0) / 6.0"});
  t.add_unary("hardsigmoid", {.f32 = "select(select(select((a + 3.0) / 6.0, 0.0, a <= -3.0), 1.0, a >= 3.0), a, is_nan(a))"});
  t.add("gelu", gelu);
  t.add("leaky_relu", leaky_relu);
  t.add("elu", elu);
  t.add("softplus", softplus);
  t.add("hardtanh", hardtanh);
  t.add("softshrink", softshrink);
  t.add("hardshrink", hardshrink);
  t.add("threshold", threshold);
}

void add_transcendental(Elements& t) {
  struct Row {
    const char *op, *code;
  };
  constexpr Row rows[] = {{"exp", "exp(a)"}, {"exp2", "exp2(a)"}, {"expm1", "expm1_f32(a)"}, {"log", "log(a)"}, {"log2", "log2(a)"},
      {"log10", "log(a) * 0.43429448"}, {"log1p", "log1p_f32(a)"}, {"sin", "sin(a)"}, {"cos", "cos(a)"}, {"tan", "sin(a) / cos(a)"},
      {"asin", "asin_f32(a)"}, {"acos", "acos_f32(a)"}, {"atan", "atan_f32(a)"}, {"sinh", "sinh_f32(a)"}, {"cosh", "cosh_f32(a)"},
      {"tanh", "tanh_f32(a)"}, {"asinh", "asinh_f32(a)"}, {"acosh", "acosh_f32(a)"}, {"atanh", "atanh_f32(a)"}, {"erf", "erf_f32(a)"},
      {"erfc", "erfc_f32(a)"}, {"lgamma", "lgamma_f32(a)"}, {"digamma", "digamma_f32(a)"}, {"i0", "i0_f32(a)"},
      {"special_i0e", "i0e_f32(a)"}, {"special_i1", "i1_f32(a)"}, {"special_i1e", "i1e_f32(a)"}, {"erfinv", "erfinv_f32(a)"},
      {"sqrt", "sqrt(a)"}, {"rsqrt", "1.0 / sqrt(a)"}, {"special_entr", "select(select(-a * log(a), 0.0, a == 0.0), -inf_f32(), a < 0.0)"}};
  for (const Row& row : rows) t.add_unary(row.op, {.f32 = row.code});
}

}  // namespace

void add_unary_elements(Elements& t) {
  t.add_unary("neg", {.f32 = "-a", .i32 = "-a", .u32 = "0u - a", .i64 = "i64_neg(a)", .u64 = "i64_neg(a)"});
  t.add_unary("abs", {.f32 = "abs(a)", .i32 = "abs(a)", .u32 = "a", .i64 = "i64_abs(a)", .u64 = "a"});
  t.add_unary("sign", {.f32 = "select(f32(a > 0.0) - f32(a < 0.0), 0.0, is_nan(a))",
                          .i32 = "sign(a)",
                          .u32 = "min(a, 1u)",
                          .boolean = "a",
                          .i64 = "i64_from_i32(select(i32(!i64_zero(a)), -1, i64_negative(a)))",
                          .u64 = "vec2<u32>(u32(!i64_zero(a)), 0u)"});
  for (const char* op : {"floor", "ceil", "trunc"}) {
    const char* code = op[0] == 'f' ? "floor(a)" : op[0] == 'c' ? "ceil(a)" : "trunc(a)";
    t.add_unary(op, {.f32 = code, .i32 = "a", .u32 = "a", .i64 = "a", .u64 = "a"});
  }
  t.add("round", round);
  t.add("nan_to_num", nan_to_num);
  t.add_unary("isinf", {.f32 = "is_inf(a)", .i32 = "false", .u32 = "false", .boolean = "false", .i64 = "false", .u64 = "false"});
  t.add_unary("isfinite", {.f32 = "is_finite(a)", .i32 = "true", .u32 = "true", .boolean = "true", .i64 = "true", .u64 = "true"});
  t.add_unary("signbit", {.f32 = "(bitcast<u32>(a) >> 31u) != 0u",
                             .i32 = "a < 0",
                             .u32 = "false",
                             .boolean = "false",
                             .i64 = "i64_negative(a)",
                             .u64 = "false"});
  t.add_unary("logical_not",
      {.f32 = "a == 0.0 && !is_nan(a)", .i32 = "a == 0", .u32 = "a == 0u", .boolean = "!a", .i64 = "i64_zero(a)", .u64 = "i64_zero(a)"});
  add_transcendental(t);
  add_activations(t);
}

}  // namespace pyburn::wgpu
