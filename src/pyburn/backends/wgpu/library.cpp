#include "pyburn/backends/wgpu/library.h"

#include <vector>

#include "pyburn/backends/wgpu/shader.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

constexpr LibraryPart parts[] = {
    // Comparisons with NaN may be optimised away: the bits are asked.
    {"is_nan", "fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }\n"},
    {"is_inf", "fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }\n"},
    {"is_finite", "fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }\n"},
    // WGSL refuses constants that are not finite; numbers that the compiler cannot see through are not folded.
    {"float_of_bits", "fn float_of_bits(b: u32) -> f32 { var bits = b; return bitcast<f32>(bits); }\n"},
    {"nan_f32", "fn nan_f32() -> f32 { return float_of_bits(0x7fc00000u); }\n"},
    {"inf_f32", "fn inf_f32() -> f32 { return float_of_bits(0x7f800000u); }\n"},
    // float16 with integers: exact, no feature of the device is needed.
    {"f16_value", R"(fn f16_value(h: u32) -> f32 {
  let sign = (h & 0x8000u) << 16u;
  let exponent = (h >> 10u) & 31u;
  let mantissa = h & 1023u;
  if (exponent == 0u) { return bitcast<f32>(bitcast<u32>(f32(mantissa) * 5.9604644775390625e-8) | sign); }
  if (exponent == 31u) { return float_of_bits(sign | 0x7f800000u | (mantissa << 13u)); }
  return bitcast<f32>(sign | ((exponent + 112u) << 23u) | (mantissa << 13u));
}
)"},
    {"f16_bits", R"(fn f16_bits(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  let sign = (bits >> 16u) & 0x8000u;
  let a = bits & 0x7fffffffu;
  if (a > 0x7f800000u) { return sign | 0x7e00u; }
  if (a >= 0x477ff000u) { return sign | 0x7c00u; }
  if (a < 0x38800000u) { return sign | u32(round(bitcast<f32>(a) * 16777216.0)); }
  return sign | ((a + 0xfffu + ((a >> 13u) & 1u) - 0x38000000u) >> 13u);
}
)"},
    {"bf16_bits", R"(fn bf16_bits(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return (bits >> 16u) | 0x40u; }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
)"},
    // 64-bit integers: vec2<u32>, low word first. Those with u64 differ from those with i64 only where the sign matters.
    {"mul_wide", R"(fn mul_wide(a: u32, b: u32) -> vec2<u32> {
  let a0 = a & 0xffffu; let a1 = a >> 16u; let b0 = b & 0xffffu; let b1 = b >> 16u;
  let low = a0 * b0;
  let middle = a1 * b0 + (low >> 16u);
  let cross = a0 * b1 + (middle & 0xffffu);
  return vec2<u32>(a * b, a1 * b1 + (middle >> 16u) + (cross >> 16u));
}
)"},
    {"i64_add", R"(fn i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
)"},
    {"i64_sub",
        "fn i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x)); }\n"},
    {"i64_neg", "fn i64_neg(a: vec2<u32>) -> vec2<u32> { return i64_sub(vec2<u32>(0u, 0u), a); }\n"},
    {"i64_mul", R"(fn i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = mul_wide(a.x, b.x);
  return vec2<u32>(r.x, r.y + a.x * b.y + a.y * b.x);
}
)"},
    {"i64_negative", "fn i64_negative(a: vec2<u32>) -> bool { return (a.y >> 31u) != 0u; }\n"},
    {"i64_abs", "fn i64_abs(a: vec2<u32>) -> vec2<u32> { if (i64_negative(a)) { return i64_neg(a); } return a; }\n"},
    {"i64_eq", "fn i64_eq(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }\n"},
    {"i64_zero", "fn i64_zero(a: vec2<u32>) -> bool { return (a.x | a.y) == 0u; }\n"},
    {"u64_lt", "fn u64_lt(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }\n"},
    {"i64_lt",
        "fn i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool { return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x); }\n"},
    {"i64_from_i32", "fn i64_from_i32(a: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u)); }\n"},
    {"i64_select", "fn i64_select(a: vec2<u32>, b: vec2<u32>, c: bool) -> vec2<u32> { if (c) { return b; } return a; }\n"},
    {"u64_shl", R"(fn u64_shl(a: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) { return a; }
  if (n >= 32u) { return vec2<u32>(0u, a.x << (n - 32u)); }
  return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}
)"},
    {"u64_shr", R"(fn u64_shr(a: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) { return a; }
  if (n >= 32u) { return vec2<u32>(a.y >> (n - 32u), 0u); }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}
)"},
    {"i64_shr", R"(fn i64_shr(a: vec2<u32>, n: u32) -> vec2<u32> {
  let high = bitcast<i32>(a.y);
  if (n == 0u) { return a; }
  if (n >= 32u) { return vec2<u32>(bitcast<u32>(high >> (n - 32u)), bitcast<u32>(high >> 31u)); }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), bitcast<u32>(high >> n));
}
)"},
    // Quotient and remainder, bit by bit; a zero divisor gives all ones and the dividend.
    {"u64_divide", R"(fn u64_divide(a: vec2<u32>, b: vec2<u32>) -> array<vec2<u32>, 2> {
  if ((a.y | b.y) == 0u && b.x != 0u) { return array<vec2<u32>, 2>(vec2<u32>(a.x / b.x, 0u), vec2<u32>(a.x % b.x, 0u)); }
  var q = a;
  var r = vec2<u32>(0u, 0u);
  for (var k = 0; k < 64; k++) {
    let top = r.y >> 31u;
    r = vec2<u32>((r.x << 1u) | (q.y >> 31u), (r.y << 1u) | (r.x >> 31u));
    q = vec2<u32>(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
    if (top != 0u || !u64_lt(r, b)) {
      r = i64_sub(r, b);
      q.x |= 1u;
    }
  }
  return array<vec2<u32>, 2>(q, r);
}
)"},
    {"u64_div", "fn u64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { var r = u64_divide(a, b); return r[0]; }\n"},
    {"u64_rem", "fn u64_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { var r = u64_divide(a, b); return r[1]; }\n"},
    {"i64_div", R"(fn i64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let q = u64_div(i64_abs(a), i64_abs(b));
  if (i64_negative(a) != i64_negative(b)) { return i64_neg(q); }
  return q;
}
)"},
    {"i64_rem", R"(fn i64_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = u64_rem(i64_abs(a), i64_abs(b));
  if (i64_negative(a)) { return i64_neg(r); }
  return r;
}
)"},
    // Rounded down; a remainder has the sign of the divisor.
    {"floor_divide_i32", R"(fn floor_divide_i32(a: i32, b: i32) -> i32 {
  if (b == -1) { return -a; }
  let q = a / b;
  return select(q, q - 1, (a % b != 0) && ((a < 0) != (b < 0)));
}
)"},
    {"remainder_i32", R"(fn remainder_i32(a: i32, b: i32) -> i32 {
  if (b == -1) { return 0; }
  let r = a % b;
  return select(r, r + b, r != 0 && ((r < 0) != (b < 0)));
}
)"},
    {"fmod_i32", "fn fmod_i32(a: i32, b: i32) -> i32 { if (b == -1) { return 0; } return a % b; }\n"},
    {"floor_divide_i64", R"(fn floor_divide_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let q = i64_div(a, b);
  if (i64_negative(a) != i64_negative(b) && !i64_zero(i64_rem(a, b))) { return i64_sub(q, vec2<u32>(1u, 0u)); }
  return q;
}
)"},
    {"remainder_i64", R"(fn remainder_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = i64_rem(a, b);
  if (!i64_zero(r) && i64_negative(r) != i64_negative(b)) { return i64_add(r, b); }
  return r;
}
)"},
    {"gcd_u32", "fn gcd_u32(x: u32, y: u32) -> u32 { var a = x; var b = y; while (b != 0u) { let r = a % b; a = b; b = r; } return a; }\n"},
    {"gcd_u64", R"(fn gcd_u64(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
  var a = x;
  var b = y;
  while (!i64_zero(b)) { let r = u64_rem(a, b); a = b; b = r; }
  return a;
}
)"},
    {"lcm_u32", "fn lcm_u32(a: u32, b: u32) -> u32 { let g = gcd_u32(a, b); if (g == 0u) { return 0u; } return a / g * b; }\n"},
    {"lcm_u64", R"(fn lcm_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let g = gcd_u64(a, b);
  if (i64_zero(g)) { return g; }
  return i64_mul(u64_div(a, g), b);
}
)"},
    {"pow_u32",
        "fn pow_u32(a: u32, e: u32) -> u32 { var r = 1u; var b = a; for (var n = e; n != 0u; n = n >> 1u) { if ((n & 1u) != 0u) { r = r * "
        "b; } b = b * b; } return r; }\n"},
    {"pow_i32", R"(fn pow_i32(a: i32, e: i32) -> i32 {
  if (e < 0) { return select(select(0, select(1, -1, (e & 1) != 0), a == -1), 1, a == 1); }
  return bitcast<i32>(pow_u32(bitcast<u32>(a), bitcast<u32>(e)));
}
)"},
    {"pow_u64", R"(fn pow_u64(a: vec2<u32>, e: vec2<u32>) -> vec2<u32> {
  var r = vec2<u32>(1u, 0u);
  var b = a;
  for (var n = e; !i64_zero(n); n = u64_shr(n, 1u)) { if ((n.x & 1u) != 0u) { r = i64_mul(r, b); } b = i64_mul(b, b); }
  return r;
}
)"},
    {"pow_i64", R"(fn pow_i64(a: vec2<u32>, e: vec2<u32>) -> vec2<u32> {
  if (!i64_negative(e)) { return pow_u64(a, e); }
  if (a.y == 0u && a.x == 1u) { return a; }
  if ((a.x & a.y) == 0xffffffffu) { return i64_select(vec2<u32>(1u, 0u), a, (e.x & 1u) != 0u); }
  return vec2<u32>(0u, 0u);
}
)"},
    // Rounded once, to nearest even.
    {"u64_to_f32", R"(fn u64_to_f32(a: vec2<u32>) -> f32 {
  if (a.y == 0u && a.x < 16777216u) { return f32(a.x); }
  let zeros = select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
  let n = u64_shl(a, zeros);
  var m = n.y >> 8u;
  let low = n.y & 0xffu;
  if (low > 128u || (low == 128u && (n.x != 0u || (m & 1u) == 1u))) { m += 1u; }
  return bitcast<f32>(((190u - zeros) << 23u) + (m - 0x800000u));
}
)"},
    {"i64_to_f32", R"(fn i64_to_f32(a: vec2<u32>) -> f32 {
  if (i64_negative(a)) { return -u64_to_f32(i64_neg(a)); }
  return u64_to_f32(a);
}
)"},
    // The integer part, exactly; saturates, and NaN gives 0.
    {"f32_to_u64", R"(fn f32_to_u64(x: f32) -> vec2<u32> {
  let bits = bitcast<u32>(x);
  let exponent = (bits >> 23u) & 255u;
  if (exponent < 127u || (bits >> 31u) != 0u || is_nan(x)) { return vec2<u32>(0u, 0u); }
  if (exponent >= 191u) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  let m = vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u);
  if (exponent >= 150u) { return u64_shl(m, exponent - 150u); }
  return u64_shr(m, 150u - exponent);
}
)"},
    {"f32_to_i64", R"(fn f32_to_i64(x: f32) -> vec2<u32> {
  let bits = bitcast<u32>(x);
  let a = f32_to_u64(bitcast<f32>(bits & 0x7fffffffu));
  let negative = (bits >> 31u) != 0u;
  if ((a.y >> 31u) != 0u) { return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative); }
  return i64_select(a, i64_neg(a), negative);
}
)"},
};

}  // namespace

std::string library_for(std::string_view code) {
  std::string out;
  const auto add_used = [&](std::span<const LibraryPart> list) {
    for (auto part = list.rbegin(); part != list.rend(); ++part) {
      const std::string call = std::string(part->name) + "(";
      if (code.find(call) != code.npos || out.find(call) != out.npos) out += part->code;
    }
  };
  add_used(math_parts());
  add_used(parts);
  return out;
}

std::string shared_accessors(const std::string& name, DType dtype, const std::string& buffer) {
  const Word w = word_of(dtype);
  const DTypeInfo& info = dtype_info(dtype);
  const std::string type = type_name(w), place = "  let e = p." + name + "_offset + i;\n";
  std::string out;
  if (info.bits == 64) {  // there are no atomics of 64 bits; a sum needs none, because carries may come in any order
    return "fn " + name + "_add(i: u32, v: vec2<u32>) {\n" + place + "  let old = atomicAdd(&" + buffer + "[2u * e], v.x);\n  atomicAdd(&" +
           buffer + "[2u * e + 1u], v.y + select(0u, 1u, old + v.x < old));\n}\n";
  }
  const auto update = [&](const char* what, const std::string& expression) {
    out += "fn " + name + "_" + what + "(i: u32, v: " + type + ") {\n" + place;
    if (info.bits == 32) {
      out += "  loop {\n    let old = atomicLoad(&" + buffer + "[e]);\n    let a = bitcast<" + type +
             ">(old);\n    let next = bitcast<u32>(" + expression + ");\n    if (next == old || atomicCompareExchangeWeak(&" + buffer +
             "[e], old, next).exchanged) { return; }\n  }\n}\n";
      return;
    }
    const std::string bits = std::to_string(info.bits) + "u", mask = info.bits == 16 ? "0xffffu" : "0xffu";
    const std::string k = info.bits == 16 ? "e >> 1u" : "e >> 2u", s = info.bits == 16 ? "(e & 1u) * 16u" : "(e & 3u) * 8u";
    std::string value = "extractBits(old, s, " + bits + ")", back = "bitcast<u32>(" + expression + ")";
    if (dtype == DType::float16) value = "f16_value(" + value + ")", back = "f16_bits(" + expression + ")";
    else if (dtype == DType::bfloat16) value = "bitcast<f32>(" + value + " << 16u)", back = "bf16_bits(" + expression + ")";
    else if (w == Word::boolean) value += " != 0u", back = "select(0u, 1u, " + expression + ")";
    else if (w == Word::i32) value = "extractBits(bitcast<i32>(old), s, " + bits + ")";
    out += "  let s = " + s + ";\n  loop {\n    let old = atomicLoad(&" + buffer + "[" + k + "]);\n    let a = " + value +
           ";\n    let next = (old & ~(" + mask + " << s)) | ((" + back + " & " + mask + ") << s);\n" +
           "    if (next == old || atomicCompareExchangeWeak(&" + buffer + "[" + k + "], old, next).exchanged) { return; }\n  }\n}\n";
  };
  update("add", w == Word::boolean ? "(a || v)" : "(a + v)");
  const std::string larger = w == Word::f32 ? "(v > a && !is_nan(a)) || is_nan(v)" : w == Word::boolean ? "v" : "v > a";
  const std::string smaller = w == Word::f32 ? "(v < a && !is_nan(a)) || is_nan(v)" : w == Word::boolean ? "!v" : "v < a";
  update("max", "select(a, v, " + larger + ")");
  update("min", "select(a, v, " + smaller + ")");
  update("mul", w == Word::boolean ? "(a && v)" : "(a * v)");
  return out;
}

}  // namespace pyburn::wgpu
