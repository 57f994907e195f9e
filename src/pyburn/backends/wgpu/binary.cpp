// Functions of two elements, one of which may be a number.
#include "pyburn/ops/binary.h"

#include "pyburn/backends/wgpu/elementwise.h"
#include "pyburn/ops/pointwise.h"

namespace pyburn::wgpu {
namespace {

// a + c * b; without c where it is 1.
Element additive(OpRef op, std::span<const DType> in, bool plus) {
  const Additive& a = op.as<Additive>();
  const Word type = word_of(in[0]);
  Element e{"", type, {}};
  if (a.scalar == Side::left) e.from_number(a.value, type).from_input(0, type);
  else e.from_input(0, type), a.scalar == Side::right ? e.from_number(a.value, type) : e.from_input(1, type);
  const bool scaled = !(a.alpha.to_double() == 1);
  if (scaled) e.from_number(a.alpha, type);
  if (type == Word::boolean) {
    e.code = scaled ? "a != (b && c)" : "a != b";
    if (plus) e.code = scaled ? "a || (b && c)" : "a || b";
  } else if (is_wide(type)) {
    e.code = std::string(plus ? "i64_add" : "i64_sub") + (scaled ? "(a, i64_mul(c, b))" : "(a, b)");
  } else {
    e.code = std::string(plus ? "a + " : "a - ") + (scaled ? "c * b" : "b");
  }
  return e;
}
Element add(OpRef op, std::span<const DType> in, DType) { return additive(op, in, true); }
Element sub(OpRef op, std::span<const DType> in, DType) { return additive(op, in, false); }

Element where(OpRef op, std::span<const DType> in, DType out) {
  const Where& a = op.as<Where>();
  const Word type = word_of(out);
  (void)in;
  Element e{is_wide(type) ? "i64_select(c, b, a)" : "select(c, b, a)", type, {}};
  e.from_input(0, Word::boolean);
  int next = 1;
  if (a.scalar == Side::left || a.scalar == Side::both) e.from_number(a.value, type);
  else e.from_input(next++, type);
  if (a.scalar == Side::both) return e.from_number(a.other, type);
  return a.scalar == Side::right ? e.from_number(a.value, type) : e.from_input(next, type);
}

// The exponents that most tensors are raised to are products and roots.
Element pow(OpRef op, std::span<const DType> in, DType out) {
  const Codes codes{.f32 = "pow_f32(a, b)", .i32 = "pow_i32(a, b)", .u32 = "pow_u32(a, b)", .i64 = "pow_i64(a, b)", .u64 = "pow_u64(a, b)"};
  const Binary& a = op.as<Binary>();
  const Word type = word_of(in[0]);
  const double e = a.scalar == Side::right && type == Word::f32 ? a.value.to_double() : 0;
  const char* simple = e == 2 ? "a * a" : e == 3 ? "a * a * a" : e == -1 ? "1.0 / a" : e == 1 ? "a" : nullptr;
  if (simple) return Element{simple, type, {}}.from_input(0, type);
  return binary_operands(op, in, out, codes.of(type));
}

// A divisor of zero is an error for integers, which only numbers can be asked for: tensors of integers are divided on the CPU.
template <const Codes* codes>
Element division(OpRef op, std::span<const DType> in, DType out) {
  const Binary& a = op.as<Binary>();
  const Word type = word_of(in[0]);
  if (type != Word::f32 && (a.scalar != Side::right || a.value.to_int() == 0)) return {};
  return binary_operands(op, in, out, codes->of(type));
}
constexpr Codes kFloorDivide{.f32 = "floor_divide_f32(a, b)",
    .i32 = "floor_divide_i32(a, b)",
    .u32 = "a / b",
    .i64 = "floor_divide_i64(a, b)",
    .u64 = "u64_div(a, b)"};
constexpr Codes kRemainder{
    .f32 = "remainder_f32(a, b)", .i32 = "remainder_i32(a, b)", .u32 = "a % b", .i64 = "remainder_i64(a, b)", .u64 = "u64_rem(a, b)"};
constexpr Codes kFmod{.f32 = "fmod_f32(a, b)", .i32 = "fmod_i32(a, b)", .u32 = "a % b", .i64 = "i64_rem(a, b)", .u64 = "u64_rem(a, b)"};

// Places outside the width of the dtype shift everything out.
template <bool left>
Element shift(OpRef op, std::span<const DType> in, DType out) {
  const std::string bits = std::to_string(dtype_info(in[0]).bits) + "u";
  const Word type = word_of(in[0]);
  const bool is_signed = type == Word::i32 || type == Word::i64;
  Element e = binary_operands(op, in, out, "");
  const std::string far = is_wide(type) ? "(b.y != 0u || b.x >= 64u)" : "(bitcast<u32>(b) >= " + bits + ")";
  if (is_wide(type)) {
    const std::string rest = left || !is_signed ? "vec2<u32>(0u, 0u)" : "i64_shr(a, 63u)";
    e.code = "i64_select(" +
             std::string(left        ? "u64_shl"
                         : is_signed ? "i64_shr"
                                     : "u64_shr") +
             "(a, b.x & 63u), " + rest + ", " + far + ")";
  } else {
    const std::string rest = left || !is_signed ? std::string(type_name(type)) + "(0)" : "a >> 31u";
    e.code = "select(a " + std::string(left ? "<<" : ">>") + " (bitcast<u32>(b) & 31u), " + rest + ", " + far + ")";
  }
  return e;
}

Element lerp(OpRef op, std::span<const DType> in, DType) {
  const Lerp& a = op.as<Lerp>();
  Element e{"select(b - (b - a) * (1.0 - c), a + c * (b - a), c < 0.5 && c > -0.5)", Word::f32, {}};
  e.from_input(0, Word::f32).from_input(1, Word::f32);
  (void)in;
  return a.weight ? e.from_number(*a.weight, Word::f32) : e.from_input(2, Word::f32);
}
Element add_product(OpRef op, std::span<const DType> in, bool product) {
  const Word type = word_of(in[0]);
  if (type == Word::boolean) return {};
  Element e{product ? "a + d * b * c" : "a + d * (b / c)", type, {}};
  if (is_wide(type)) e.code = "i64_add(a, i64_mul(d, i64_mul(b, c)))";
  e.from_input(0, type).from_input(1, type).from_input(2, type);
  return e.from_number(op.as<AddProduct>().value, type);
}
Element addcmul(OpRef op, std::span<const DType> in, DType) { return add_product(op, in, true); }
Element addcdiv(OpRef op, std::span<const DType> in, DType) { return add_product(op, in, false); }

Element clamp(OpRef op, std::span<const DType> in, DType) {
  const Clamp& a = op.as<Clamp>();
  const Word type = word_of(in[0]);
  if (type == Word::boolean) return {};
  Element e{"a", type, {}};
  e.from_input(0, type);
  char next = 'b';
  const auto limit = [&](const std::optional<Scalar>& number, bool low) {
    if (!number) return;
    const std::string n(1, next++);
    e.from_number(*number, type);
    if (is_wide(type)) {
      const std::string less = type == Word::i64 ? "i64_lt" : "u64_lt";
      e.code = "i64_select(" + e.code + ", " + n + ", " + less + (low ? "(" + e.code + ", " + n + "))" : "(" + n + ", " + e.code + "))");
    } else {
      e.code = "select(" + e.code + ", " + n + ", " + e.code + (low ? " < " : " > ") + n + (type == Word::f32 ? " && !is_nan(a))" : ")");
    }
  };
  limit(a.min, true);
  limit(a.max, false);
  return e;
}

void add_math(Elements& t) {
  t.add("pow", pow);
  t.add("floor_divide", division<&kFloorDivide>);
  t.add("remainder", division<&kRemainder>);
  t.add("fmod", division<&kFmod>);
  t.add("lerp", lerp);
  t.add("addcmul", addcmul);
  t.add("addcdiv", addcdiv);
  t.add("clamp", clamp);
  t.add_binary("atan2", {.f32 = "atan2_f32(a, b)"});
  t.add_binary("hypot", {.f32 = "hypot_f32(a, b)"});
  t.add_binary("xlogy", {.f32 = "select(select(a * log(b), 0.0, a == 0.0), b, is_nan(b))"});
  t.add_binary("logaddexp", {.f32 = "logaddexp_f32(a, b)"});
  t.add_binary("logaddexp2", {.f32 = "logaddexp2_f32(a, b)"});
  t.add_binary("nextafter", {.f32 = "nextafter_f32(a, b)"});
  t.add_binary("copysign", {.f32 = "bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u))"});
  t.add_binary("fmax", {.f32 = "select(b, a, (a >= b && !is_nan(a)) || is_nan(b))",
                           .i32 = "max(a, b)",
                           .u32 = "max(a, b)",
                           .boolean = "a || b",
                           .i64 = "i64_select(a, b, i64_lt(a, b))",
                           .u64 = "i64_select(a, b, u64_lt(a, b))"});
  t.add_binary("fmin", {.f32 = "select(b, a, (a <= b && !is_nan(a)) || is_nan(b))",
                           .i32 = "min(a, b)",
                           .u32 = "min(a, b)",
                           .boolean = "a && b",
                           .i64 = "i64_select(a, b, i64_lt(b, a))",
                           .u64 = "i64_select(a, b, u64_lt(b, a))"});
  t.add_binary("heaviside", {.f32 = "select(select(0.0, 1.0, a > 0.0), b, a == 0.0 && !is_nan(a))",
                                .i32 = "select(select(0, 1, a > 0), b, a == 0)",
                                .u32 = "select(1u, b, a == 0u)",
                                .boolean = "a || b"});
  t.add_binary("gcd", {.i32 = "i32(gcd_u32(u32(abs(a)), u32(abs(b))))",
                          .u32 = "gcd_u32(a, b)",
                          .i64 = "gcd_u64(i64_abs(a), i64_abs(b))",
                          .u64 = "gcd_u64(a, b)"});
  t.add_binary("lcm", {.i32 = "abs(i32(lcm_u32(u32(abs(a)), u32(abs(b)))))",
                          .u32 = "lcm_u32(a, b)",
                          .i64 = "i64_abs(lcm_u64(i64_abs(a), i64_abs(b)))",
                          .u64 = "lcm_u64(a, b)"});
}

void add_logic(Elements& t) {
  const auto truth = [&](const char* op, const char* link) {
    static std::vector<std::string> kept;  // Codes hold pointers
    kept.reserve(64);
    const auto text = [&](const std::string& left, const std::string& right) {
      return kept.emplace_back(left + " " + link + " " + right).c_str();
    };
    const char* wide = text("(!i64_zero(a))", "(!i64_zero(b))");
    t.add_binary(op, {.f32 = text("(a != 0.0 || is_nan(a))", "(b != 0.0 || is_nan(b))"),
                         .i32 = text("(a != 0)", "(b != 0)"),
                         .u32 = text("(a != 0u)", "(b != 0u)"),
                         .boolean = text("a", "b"),
                         .i64 = wide,
                         .u64 = wide});
  };
  truth("logical_and", "&&");
  truth("logical_or", "||");
  truth("logical_xor", "!=");
  t.add_binary("bitwise_and", {.i32 = "a & b", .u32 = "a & b", .boolean = "a && b", .i64 = "a & b", .u64 = "a & b"});
  t.add_binary("bitwise_or", {.i32 = "a | b", .u32 = "a | b", .boolean = "a || b", .i64 = "a | b", .u64 = "a | b"});
  t.add_binary("bitwise_xor", {.i32 = "a ^ b", .u32 = "a ^ b", .boolean = "a != b", .i64 = "a ^ b", .u64 = "a ^ b"});
  t.add("bitwise_left_shift", shift<true>);
  t.add("bitwise_right_shift", shift<false>);
}

}  // namespace

void add_binary_elements(Elements& t) {
  add_math(t);
  add_logic(t);
  t.add("add", add);
  t.add("sub", sub);
  t.add("where", where);
  t.add_binary(
      "mul", {.f32 = "a * b", .i32 = "a * b", .u32 = "a * b", .boolean = "a && b", .i64 = "i64_mul(a, b)", .u64 = "i64_mul(a, b)"});
  t.add_binary("div", {.f32 = "a / b"});
  t.add_binary("maximum", {.f32 = "select(b, a, a > b || is_nan(a))",
                              .i32 = "max(a, b)",
                              .u32 = "max(a, b)",
                              .boolean = "a || b",
                              .i64 = "i64_select(a, b, i64_lt(a, b))",
                              .u64 = "i64_select(a, b, u64_lt(a, b))"});
  t.add_binary("minimum", {.f32 = "select(b, a, a < b || is_nan(a))",
                              .i32 = "min(a, b)",
                              .u32 = "min(a, b)",
                              .boolean = "a && b",
                              .i64 = "i64_select(a, b, i64_lt(b, a))",
                              .u64 = "i64_select(a, b, u64_lt(b, a))"});
  t.add_binary("eq", {.f32 = "a == b && !is_nan(a) && !is_nan(b)",
                         .i32 = "a == b",
                         .u32 = "a == b",
                         .boolean = "a == b",
                         .i64 = "i64_eq(a, b)",
                         .u64 = "i64_eq(a, b)"});
  t.add_binary("ne", {.f32 = "a != b || is_nan(a) || is_nan(b)",
                         .i32 = "a != b",
                         .u32 = "a != b",
                         .boolean = "a != b",
                         .i64 = "!i64_eq(a, b)",
                         .u64 = "!i64_eq(a, b)"});
  t.add_binary("lt", {.f32 = "a < b && !is_nan(a) && !is_nan(b)",
                         .i32 = "a < b",
                         .u32 = "a < b",
                         .boolean = "!a && b",
                         .i64 = "i64_lt(a, b)",
                         .u64 = "u64_lt(a, b)"});
  t.add_binary("le", {.f32 = "a <= b && !is_nan(a) && !is_nan(b)",
                         .i32 = "a <= b",
                         .u32 = "a <= b",
                         .boolean = "!a || b",
                         .i64 = "!i64_lt(b, a)",
                         .u64 = "!u64_lt(b, a)"});
  t.add_binary("gt", {.f32 = "a > b && !is_nan(a) && !is_nan(b)",
                         .i32 = "a > b",
                         .u32 = "a > b",
                         .boolean = "a && !b",
                         .i64 = "i64_lt(b, a)",
                         .u64 = "u64_lt(b, a)"});
  t.add_binary("ge", {.f32 = "a >= b && !is_nan(a) && !is_nan(b)",
                         .i32 = "a >= b",
                         .u32 = "a >= b",
                         .boolean = "a || !b",
                         .i64 = "!i64_lt(a, b)",
                         .u64 = "!u64_lt(a, b)"});
}

}  // namespace pyburn::wgpu
