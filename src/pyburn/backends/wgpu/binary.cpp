// Functions of two elements, one of which may be a number.
#include "pyburn/ops/binary.h"

#include "pyburn/backends/wgpu/elementwise.h"

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

}  // namespace

void add_binary_elements(Elements& t) {
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
