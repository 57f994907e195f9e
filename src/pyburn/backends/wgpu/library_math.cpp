// Functions of floats that are missing in WGSL, or whose precision it leaves open.
#include "pyburn/backends/wgpu/library.h"

namespace pyburn::wgpu {
namespace {

constexpr LibraryPart parts[] = {
    {"expm1_f32", R"(fn expm1_f32(x: f32) -> f32 {
  if (abs(x) > 0.4 || is_nan(x)) { return exp(x) - 1.0; }
  return x + x * x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * (0.0013888889 + x * (0.00019841270 + x * 2.4801588e-5))))));
}
)"},
    {"log1p_f32", R"(fn log1p_f32(x: f32) -> f32 {
  if (abs(x) > 0.3 || is_nan(x)) { return log(1.0 + x); }
  let s = x / (2.0 + x);
  let z = s * s;
  return 2.0 * s * (1.0 + z * (0.33333334 + z * (0.2 + z * (0.14285715 + z * (0.11111111 + z * 0.09090909)))));
}
)"},
    {"tanh_f32", R"(fn tanh_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a > 9.2) { return sign(x); }
  let t = expm1_f32(2.0 * a);
  let r = t / (t + 2.0);
  return select(r, -r, x < 0.0);
}
)"},
    {"sinh_f32", R"(fn sinh_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a < 1.0) {
    let z = x * x;
    return x * (1.0 + z * (0.16666667 + z * (0.008333334 + z * (0.00019841270 + z * 2.7557319e-6))));
  }
  let h = exp(0.5 * a);
  let r = 0.5 * h * h - 0.5 / h / h;
  return select(r, -r, x < 0.0);
}
)"},
    {"cosh_f32", "fn cosh_f32(x: f32) -> f32 { let h = exp(0.5 * abs(x)); return 0.5 * h * h + 0.5 / h / h; }\n"},
    {"asinh_f32", R"(fn asinh_f32(x: f32) -> f32 {
  let a = abs(x);
  var r = log(a) + 0.6931472;
  if (a < 1.0e9 || is_nan(x)) { r = log1p_f32(a + a * a / (1.0 + sqrt(a * a + 1.0))); }
  return select(r, -r, x < 0.0);
}
)"},
    {"acosh_f32", R"(fn acosh_f32(x: f32) -> f32 {
  if (x < 1.0) { return nan_f32(); }
  if (x > 1.0e9) { return log(x) + 0.6931472; }
  let t = x - 1.0;
  return log1p_f32(t + sqrt(2.0 * t + t * t));
}
)"},
    {"atanh_f32", R"(fn atanh_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0 || is_nan(x)) { return nan_f32(); }
  var r = inf_f32();
  if (a < 1.0) { r = 0.5 * log1p_f32(2.0 * a / (1.0 - a)); }
  return select(r, -r, x < 0.0);
}
)"},
    {"atan_f32", R"(fn atan_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let a = abs(x);
  var base = 0.0;
  var t = a;
  if (a > 2.4142137) { base = 1.5707964; t = -1.0 / a; }
  else if (a > 0.41421357) { base = 0.78539819; t = (a - 1.0) / (a + 1.0); }
  let z = t * t;
  let r = base + (t + t * z * (-0.33332950 + z * (0.19977711 + z * (-0.13877685 + z * 0.080537446))));
  return select(r, -r, x < 0.0);
}
)"},
    {"asin_f32", R"(fn asin_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0 || is_nan(x)) { return nan_f32(); }
  let outer = a > 0.5;
  let z = select(a * a, 0.5 * (1.0 - a), outer);
  let s = select(a, sqrt(z), outer);
  let q = s + s * z * (0.16666752 + z * (0.074953005 + z * (0.045470025 + z * (0.024181311 + z * 0.042163199))));
  let r = select(q, 1.5707964 - 2.0 * q, outer);
  return select(r, -r, x < 0.0);
}
)"},
    {"acos_f32", R"(fn acos_f32(x: f32) -> f32 {
  if (x > 0.5) { return 2.0 * asin_f32(sqrt(0.5 * (1.0 - x))); }
  if (x < -0.5) { return 3.1415927 - 2.0 * asin_f32(sqrt(0.5 * (1.0 + x))); }
  return 1.5707964 - asin_f32(x);
}
)"},
    {"atan2_f32", R"(fn atan2_f32(y: f32, x: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  let a = abs(y);
  let b = abs(x);
  var r = 0.0;
  if (is_inf(x) && is_inf(y)) { r = 0.78539819; }
  else if (a == 0.0) { r = 0.0; }
  else if (a > b) { r = 1.5707964 - atan_f32(b / a); }
  else { r = atan_f32(a / b); }
  if ((bitcast<u32>(x) >> 31u) != 0u) { r = 3.1415927 - r; }
  return bitcast<f32>(bitcast<u32>(r) | (bitcast<u32>(y) & 0x80000000u));
}
)"},
    // Both by rational functions on pieces; the exponential of a square is split so that it does not lose digits.
    {"erfc_tail", R"(fn erfc_tail(x: f32) -> f32 {
  let s = 1.0 / (x * x);
  var r = -9.8649440e-3 + s * (-6.9385856e-1 + s * (-10.558626 + s * (-62.375332 + s * (-162.39667 + s * (-184.60509 + s * (-81.287437 + s * -9.8143292))))));
  var d = 1.0 + s * (19.651272 + s * (137.65776 + s * (434.56589 + s * (645.38727 + s * (429.00815 + s * (108.63500 + s * (6.5702496 + s * -0.060424414)))))));
  if (x >= 2.8571429) {
    r = -9.8649431e-3 + s * (-0.79928327 + s * (-17.757956 + s * (-160.63638 + s * (-637.56647 + s * (-1025.0951 + s * -483.51920)))));
    d = 1.0 + s * (30.338061 + s * (325.79251 + s * (1536.7296 + s * (3199.8582 + s * (2553.0503 + s * (474.52853 + s * -22.440952))))));
  }
  let z = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  return exp(-z * z - 0.5625) * exp((z - x) * (z + x) + r / d) / x;
}
)"},
    {"erf_middle", R"(fn erf_middle(a: f32) -> f32 {
  let s = a - 1.0;
  let n = -2.3621186e-3 + s * (0.41485611 + s * (-0.37220788 + s * (0.31834662 + s * (-0.11089469 + s * (0.035478305 + s * -2.1663755e-3)))));
  let d = 1.0 + s * (0.10642088 + s * (0.54039794 + s * (0.071828656 + s * (0.12617122 + s * (0.013637084 + s * 0.0119845)))));
  return n / d;
}
)"},
    {"erf_near", R"(fn erf_near(x: f32) -> f32 {
  let z = x * x;
  let n = 0.12837917 + z * (-0.32504210 + z * (-0.028481750 + z * (-5.7702702e-3 + z * -2.3763017e-5)));
  let d = 1.0 + z * (0.39791721 + z * (0.065022253 + z * (5.0813062e-3 + z * (1.3249474e-4 + z * -3.9602282e-6))));
  return n / d;
}
)"},
    {"erf_f32", R"(fn erf_f32(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) { return x; }
  if (a < 0.84375) { return x + x * erf_near(x); }
  var r = 1.0;
  if (a < 1.25) { r = 0.84506291 + erf_middle(a); }
  else if (a < 6.0) { r = 1.0 - erfc_tail(a); }
  return select(r, -r, x < 0.0);
}
)"},
    {"erfc_f32", R"(fn erfc_f32(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) { return x; }
  if (a < 0.84375) { return select(1.0 - (x + x * erf_near(x)), 0.5 - (x - 0.5 + x * erf_near(x)), x > 0.25); }
  if (a < 1.25) { return select(1.0 - 0.84506291 - erf_middle(a), 1.0 + 0.84506291 + erf_middle(a), x < 0.0); }
  if (x < -6.0) { return 2.0; }
  if (x > 10.1) { return 0.0; }
  let r = erfc_tail(a);
  return select(r, 2.0 - r, x < 0.0);
}
)"},
    {"erfinv_f32", R"(fn erfinv_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0 || is_nan(x)) { return nan_f32(); }
  if (a == 1.0) { return select(inf_f32(), -inf_f32(), x < 0.0); }
  var w = -log((1.0 - a) * (1.0 + a));
  var r = 0.0;
  if (w < 5.0) {
    w = w - 2.5;
    r = 1.50140941 + w * (0.246640727 + w * (-0.00417768164 + w * (-0.00125372503 + w * (0.00021858087 + w * (-4.39150654e-6 + w * (-3.5233877e-6 + w * (3.43273939e-7 + w * 2.81022636e-8)))))));
  } else {
    w = sqrt(w) - 3.0;
    r = 2.83297682 + w * (1.00167406 + w * (0.00943887047 + w * (-0.0076224613 + w * (0.00573950773 + w * (-0.00367342844 + w * (0.00134934322 + w * (0.000100950558 + w * -0.000200214257)))))));
  }
  r = r * x;
  let slope = 1.1283792 * exp(-r * r);
  if (slope > 1.0e-6) {
    let apart = select(erf_f32(r) - x, select((1.0 - a) - erfc_f32(abs(r)), erfc_f32(abs(r)) - (1.0 - a), x < 0.0), a > 0.5);
    r = r - apart / slope;
  }
  return r;
}
)"},
    // x^y with the sign and the special cases of C.
    {"pow_f32", R"(fn pow_f32(x: f32, y: f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  let a = abs(x);
  if (is_inf(y)) {
    if (a == 1.0) { return 1.0; }
    return select(0.0, inf_f32(), (a > 1.0) == (y > 0.0));
  }
  let whole = floor(y) == y;
  let odd = whole && abs(y) < 16777216.0 && (i32(y) & 1) != 0;
  let negative = (bitcast<u32>(x) >> 31u) != 0u;
  var r = 0.0;
  if (a == 0.0) { r = select(inf_f32(), 0.0, y > 0.0); }
  else if (is_inf(x)) { r = select(0.0, inf_f32(), y > 0.0); }
  else {
    if (negative && !whole) { return nan_f32(); }
    if (whole && abs(y) <= 32.0) {
      var base = a;
      r = 1.0;
      for (var n = u32(abs(y)); n != 0u; n = n >> 1u) {
        if ((n & 1u) != 0u) { r = r * base; }
        base = base * base;
      }
      if (y < 0.0) { r = 1.0 / r; }
    } else {
      r = exp2(y * log2(a));
    }
  }
  return select(r, -r, negative && odd);
}
)"},
    // Exact: the quotient is taken off bit by bit.
    {"fmod_f32", R"(fn fmod_f32(x: f32, y: f32) -> f32 {
  if (y == 0.0 || !is_finite(x) || is_nan(y)) { return nan_f32(); }
  if (is_inf(y) || abs(x) < abs(y)) { return x; }
  let sign = bitcast<u32>(x) & 0x80000000u;
  let divisor = abs(y);
  var rest = abs(x);
  for (var k = 0; k < 300 && rest >= divisor; k++) {
    let apart = i32(bitcast<u32>(rest) >> 23u) - i32(bitcast<u32>(divisor) >> 23u);
    var part = divisor;
    if (apart > 0) { part = ldexp(divisor, apart); }
    if (part > rest) { part = part * 0.5; }
    rest = rest - part;
  }
  return bitcast<f32>(bitcast<u32>(rest) | sign);
}
)"},
    {"remainder_f32", R"(fn remainder_f32(x: f32, y: f32) -> f32 {
  let r = fmod_f32(x, y);
  if (r != 0.0 && (r < 0.0) != (y < 0.0)) { return r + y; }
  return r;
}
)"},
    {"floor_divide_f32", R"(fn floor_divide_f32(x: f32, y: f32) -> f32 {
  if (y == 0.0) { return x / y; }
  let rest = fmod_f32(x, y);
  var q = (x - rest) / y;
  if (rest != 0.0 && (rest < 0.0) != (y < 0.0)) { q = q - 1.0; }
  if (q == 0.0) { return bitcast<f32>((bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u); }
  return round(q);
}
)"},
    {"hypot_f32", R"(fn hypot_f32(x: f32, y: f32) -> f32 {
  if (is_inf(x) || is_inf(y)) { return inf_f32(); }
  let a = max(abs(x), abs(y));
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  if (a == 0.0) { return 0.0; }
  let r = min(abs(x), abs(y)) / a;
  return a * sqrt(1.0 + r * r);
}
)"},
    {"logaddexp_f32", R"(fn logaddexp_f32(x: f32, y: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  if (x == y && is_inf(x)) { return x; }
  return max(x, y) + log1p_f32(exp(-abs(x - y)));
}
)"},
    {"logaddexp2_f32", R"(fn logaddexp2_f32(x: f32, y: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  if (x == y && is_inf(x)) { return x; }
  return max(x, y) + 1.4426950 * log1p_f32(exp2(-abs(x - y)));
}
)"},
    {"nextafter_f32", R"(fn nextafter_f32(x: f32, y: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  let b = bitcast<u32>(x);
  let c = bitcast<u32>(y);
  if (b == c || ((b | c) & 0x7fffffffu) == 0u) { return y; }
  if ((b & 0x7fffffffu) == 0u) { return bitcast<f32>((c & 0x80000000u) | 1u); }
  let up = (x < y) == ((b >> 31u) == 0u);
  return bitcast<f32>(select(b - 1u, b + 1u, up));
}
)"},
    // Shifted to where the asymptotic series holds; the reflection serves the other side.
    {"lgamma_positive", R"(fn lgamma_positive(x: f32) -> f32 {
  if (is_inf(x) || is_nan(x)) { return x; }
  var y = x;
  var product = 1.0;
  while (y < 7.0) { product = product * y; y = y + 1.0; }
  let r = 1.0 / y;
  let z = r * r;
  return (y - 0.5) * log(y) - y + 0.91893853 + r * (0.083333333 + z * (-0.0027777778 + z * 0.00079365079)) - log(product);
}
)"},
    {"lgamma_f32", R"(fn lgamma_f32(x: f32) -> f32 {
  if (x >= 0.5 || is_nan(x)) { return lgamma_positive(x); }
  if (is_inf(x) || floor(x) == x) { return inf_f32(); }
  return 1.1447299 - log(abs(sin(3.1415927 * (x - floor(x))))) - lgamma_positive(1.0 - x);
}
)"},
    {"digamma_positive", R"(fn digamma_positive(x: f32) -> f32 {
  var y = x;
  var sum = 0.0;
  while (y < 7.0) { sum = sum - 1.0 / y; y = y + 1.0; }
  let r = 1.0 / y;
  let z = r * r;
  return sum + log(y) - 0.5 * r - z * (0.083333333 + z * (-0.0083333333 + z * 0.0039682540));
}
)"},
    {"digamma_f32", R"(fn digamma_f32(x: f32) -> f32 {
  if (is_nan(x) || (is_inf(x) && x > 0.0)) { return x; }
  if (x == 0.0) { return select(-inf_f32(), inf_f32(), (bitcast<u32>(x) >> 31u) != 0u); }
  if (x > 0.0) { return digamma_positive(x); }
  let part = x - floor(x);
  if (is_inf(x) || part == 0.0) { return nan_f32(); }
  return digamma_positive(1.0 - x) - 3.1415927 * cos(3.1415927 * part) / sin(3.1415927 * part);
}
)"},
    // Polynomials of Abramowitz and Stegun, 9.8.1 to 9.8.4; "scaled" is without the factor exp(|x|).
    {"bessel_i0_far", R"(fn bessel_i0_far(a: f32) -> f32 {
  let t = 3.75 / a;
  return (0.39894228 + t * (0.01328592 + t * (0.00225319 + t * (-0.00157565 + t * (0.00916281 + t * (-0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377)))))))) / sqrt(a);
}
)"},
    {"bessel_i0_near", R"(fn bessel_i0_near(a: f32) -> f32 {
  let t = a / 3.75 * (a / 3.75);
  return 1.0 + t * (3.5156229 + t * (3.0899424 + t * (1.2067492 + t * (0.2659732 + t * (0.0360768 + t * 0.0045813)))));
}
)"},
    {"i0_f32", R"(fn i0_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a <= 3.75 || is_nan(x)) { return bessel_i0_near(a); }
  return exp(a) * bessel_i0_far(a);
}
)"},
    {"i0e_f32", R"(fn i0e_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a <= 3.75 || is_nan(x)) { return exp(-a) * bessel_i0_near(a); }
  return bessel_i0_far(a);
}
)"},
    {"bessel_i1_far", R"(fn bessel_i1_far(a: f32) -> f32 {
  let t = 3.75 / a;
  return (0.39894228 + t * (-0.03988024 + t * (-0.00362018 + t * (0.00163801 + t * (-0.01031555 + t * (0.02282967 + t * (-0.02895312 + t * (0.01787654 + t * -0.00420059)))))))) / sqrt(a);
}
)"},
    {"bessel_i1_near", R"(fn bessel_i1_near(a: f32) -> f32 {
  let t = a / 3.75 * (a / 3.75);
  return a * (0.5 + t * (0.87890594 + t * (0.51498869 + t * (0.15084934 + t * (0.02658733 + t * (0.00301532 + t * 0.00032411))))));
}
)"},
    {"i1_f32", R"(fn i1_f32(x: f32) -> f32 {
  let a = abs(x);
  var r = bessel_i1_near(a);
  if (a > 3.75) { r = exp(a) * bessel_i1_far(a); }
  return select(r, -r, x < 0.0);
}
)"},
    {"i1e_f32", R"(fn i1e_f32(x: f32) -> f32 {
  let a = abs(x);
  var r = exp(-a) * bessel_i1_near(a);
  if (a > 3.75) { r = bessel_i1_far(a); }
  return select(r, -r, x < 0.0);
}
)"},
};

}  // namespace

std::span<const LibraryPart> math_parts() { return parts; }

}  // namespace pyburn::wgpu
