// Functions of one element.
#include "pyburn/ops/unary.h"

#include "pyburn/backends/wgpu/elementwise.h"

namespace pyburn::wgpu {

void add_unary_elements(Elements& t) {
  t.add_unary("neg", {.f32 = "-a", .i32 = "-a", .u32 = "0u - a", .i64 = "i64_neg(a)", .u64 = "i64_neg(a)"});
  t.add_unary("abs", {.f32 = "abs(a)", .i32 = "abs(a)", .u32 = "a", .i64 = "i64_abs(a)", .u64 = "a"});
  t.add_unary("sign", {.f32 = "select(f32(a > 0.0) - f32(a < 0.0), 0.0, is_nan(a))",
                          .i32 = "sign(a)",
                          .u32 = "min(a, 1u)",
                          .boolean = "a",
                          .i64 = "i64_from_i32(select(i32(!i64_zero(a)), -1, i64_negative(a)))",
                          .u64 = "vec2<u32>(u32(!i64_zero(a)), 0u)"});
  const auto rounding = [&](const char* op, const char* code) {
    t.add_unary(op, {.f32 = code, .i32 = "a", .u32 = "a", .i64 = "a", .u64 = "a"});
  };
  rounding("floor", "floor(a)");
  rounding("ceil", "ceil(a)");
  rounding("trunc", "trunc(a)");
  t.add_unary("sqrt", {.f32 = "sqrt(a)"});
  t.add_unary("rsqrt", {.f32 = "1.0 / sqrt(a)"});
  t.add_unary("exp", {.f32 = "exp(a)"});
  t.add_unary("log", {.f32 = "log(a)"});
  t.add_unary("sin", {.f32 = "sin(a)"});
  t.add_unary("cos", {.f32 = "cos(a)"});
  t.add_unary("relu", {.f32 = "select(0.0, a, a > 0.0 || is_nan(a))",
                          .i32 = "max(a, 0)",
                          .u32 = "a",
                          .i64 = "i64_select(a, vec2<u32>(0u, 0u), i64_negative(a))",
                          .u64 = "a"});
}

}  // namespace pyburn::wgpu
