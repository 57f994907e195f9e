// Functions of floats computed in double precision and rounded once: without branches, so that loops over them vectorise, and without
// tables, because short series suffice at double precision. Doubles use libm. Compiled for each instruction set: include after
// foreach_target.h.
#if defined(PYBURN_WIDE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_WIDE_MATH_INL_H
#undef PYBURN_WIDE_MATH_INL_H
#else
#define PYBURN_WIDE_MATH_INL_H
#endif

#include <numbers>
#include <type_traits>

#include "pyburn/backends/cpu/math/scalar-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLn2 = std::numbers::ln2, kPi = std::numbers::pi;

// --- in double precision, accurate to ten digits for arguments in the range of floats ---

// c + c1 x + c2 x^2 + ...
template <class T>
HWY_INLINE T polynomial(T, std::type_identity_t<T> c) {
  return c;
}
template <class T, class... C>
HWY_INLINE T polynomial(T x, std::type_identity_t<T> c, C... higher) {
  return polynomial(x, higher...) * x + c;
}

// exp(x) = scale * (1 + rest), where scale is a power of two; NaN gives a finite value.
struct WideExp {
  double scale, rest;
};
HWY_INLINE WideExp split_exp(double x) {
  const double clamped = x < -700 ? -700 : x < 700 ? x : 700;
  const double shifted = clamped * std::numbers::log2e + kRoundDouble, n = shifted - kRoundDouble, r = clamped - n * kLn2;
  const double scale = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) << 52) + std::bit_cast<uint64_t>(1.0));
  return {scale, r * polynomial(r, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320)};
}
HWY_INLINE double wide_exp(double x) {
  const WideExp e = split_exp(x);
  return e.scale * e.rest + e.scale;
}
HWY_INLINE double wide_expm1(double x) {  // relative error
  const WideExp e = split_exp(x);
  return e.scale * e.rest + (e.scale - 1);
}

// log(x) for positive, finite x.
HWY_INLINE double wide_log(double x) {
  constexpr double shift = 4503599627370496.0;  // 2^52: converts an integer in the low bits to a double
  // x = 2^n * m with m between sqrt(1/2) and sqrt(2)
  const uint64_t bits = std::bit_cast<uint64_t>(x), one = std::bit_cast<uint64_t>(1.0);
  const uint64_t biased = (bits + (one - std::bit_cast<uint64_t>(std::numbers::sqrt2 / 2))) >> 52;
  const double n = std::bit_cast<double>(biased | std::bit_cast<uint64_t>(shift)) - (shift + 1023);
  const double f = std::bit_cast<double>(bits - ((biased - 1023) << 52)) - 1, s = f / (2 + f);
  return n * kLn2 + s * polynomial(s * s, 2, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13);
}
// log(1 + x) for x > -1, with small relative error.
HWY_INLINE double wide_log1p(double x) {
  const double near = x * (1 - x * (0.5 - x * (1.0 / 3))), far = wide_log(1 + x);
  return std::abs(x) < 1e-4 ? near : far;
}

// The angle of (x, y) for finite x and y that are not both 0, between 0 and pi for y >= 0.
HWY_INLINE double wide_angle(double y, double x) {
  const double a = x < 0 ? -x : x, b = y < 0 ? -y : y, small = a < b ? a : b, large = a < b ? b : a;
  const bool steep = small > 0.41421356237309503 * large;  // tan(pi / 8)
  const double t = (steep ? small - large : small) / (steep ? small + large : large);
  const double atan = t * polynomial(t * t, 0.999999999978398776, -0.333333320976093859, 0.199998838565513028, -0.142815887726541241,
                              0.110404892272182403, -0.0845619288694049602, 0.0470734814196802017);
  double angle = atan + (steep ? kPi / 4 : 0);
  angle = a < b ? kPi / 2 - angle : angle;
  angle = x < 0 ? kPi - angle : angle;
  return std::copysign(angle, y);
}

// erfc(x) for x >= 0: t * exp(-x^2 + P(t)) with t = 2 / (2 + x).
HWY_INLINE double wide_erfc(double x) {
  const double t = 2 / (2 + x);
  const double p = polynomial(t, -1.26554300747908563, 1.00088053969549039, 0.364125020360532968, 0.159751827274888888,
      -0.422524311964334267, 0.815778121023261755, -1.83318777154919991, 1.85221929996444506, -0.549105763605974938, -0.384950112954227689,
      0.337550942304934278, -0.0749947853596529117);
  return t * wide_exp(p - x * x);
}

// --- floats ---

inline double exp2_of(double x) { return std::exp2(x); }
HWY_INLINE float exp2_of(float x) { return x != x ? x : float(wide_exp(x * kLn2)); }
inline double expm1_of(double x) { return std::expm1(x); }
HWY_INLINE float expm1_of(float x) { return x != x || x == 0 ? x : float(wide_expm1(x)); }

// The results of log() and related functions for arguments outside the range of wide_log.
HWY_INLINE double log_special(double x) { return x == 0 ? -kInfinity : x < 0 ? kNaN : x; }
inline double log2_of(double x) { return std::log2(x); }
HWY_INLINE float log2_of(float x) { return float(x > 0 && x < kInfinity ? wide_log(x) * std::numbers::log2e : log_special(x)); }
inline double log10_of(double x) { return std::log10(x); }
HWY_INLINE float log10_of(float x) { return float(x > 0 && x < kInfinity ? wide_log(x) * std::numbers::log10e : log_special(x)); }
inline double log1p_of(double x) { return std::log1p(x); }
HWY_INLINE float log1p_of(float x) {
  const double u = 1.0 + x, log = wide_log1p(x), special = log_special(u);
  const double y = u > 0 && u < kInfinity ? log : special;
  return x == 0 ? x : float(y);
}

// x^y = 2^(y log2 x), with the cases of the C standard.
inline double pow_of(double x, double y) { return std::pow(x, y); }
HWY_INLINE float pow_of(float x, float y) {
  const float a = std::abs(x), half = y * 0.5f;
  const double finite = wide_log(a), log = a == 0 ? -kInfinity : a < kInfinity ? finite : double(a);  // also for infinity and NaN
  const double e = y * log, power = wide_exp(e);
  const bool integer = std::floor(y) == y, odd = integer & (std::floor(half) != half);
  const bool undefined = (e != e) | ((x < 0) & (a < kInfinity) & !integer);
  const bool one = (y == 0) | (x == 1) | ((x == -1) & (std::abs(y) == float(kInfinity)));
  const double size = one ? 1 : undefined ? kNaN : power;
  return float(std::copysign(size, odd ? double(x) : 1.0));
}

inline double sinh_of(double x) { return std::sinh(x); }
HWY_INLINE float sinh_of(float x) {
  const double e = wide_expm1(x < 0 ? -double(x) : double(x));
  return x != x ? x : float(std::copysign(0.5 * (e + e / (e + 1)), double(x)));
}
inline double cosh_of(double x) { return std::cosh(x); }
HWY_INLINE float cosh_of(float x) {
  const double e = wide_exp(x);
  return x != x ? x : float(0.5 * (e + 1 / e));
}
inline double asinh_of(double x) { return std::asinh(x); }
HWY_INLINE float asinh_of(float x) {
  const double a = x < 0 ? -double(x) : double(x), z = a * a;
  const double y = wide_log1p(a + z / (1 + std::sqrt(z + 1)));
  return a < kInfinity ? float(std::copysign(y, double(x))) : x;
}
inline double acosh_of(double x) { return std::acosh(x); }
HWY_INLINE float acosh_of(float x) {
  const double t = double(x) - 1, y = wide_log1p(t + std::sqrt(t * (t + 2)));
  return float(x >= 1 && x < kInfinity ? y : x < 1 ? kNaN : double(x));
}
inline double atanh_of(double x) { return std::atanh(x); }
HWY_INLINE float atanh_of(float x) {
  const double a = x < 0 ? -double(x) : double(x), y = 0.5 * wide_log1p(2 * a / (1 - a));
  return float(std::copysign(a < 1 ? y : a == 1 ? kInfinity : kNaN, double(x)));
}

inline double atan_of(double x) { return std::atan(x); }
HWY_INLINE float atan_of(float x) {
  const double clamped = x < -1e30f ? -1e30 : x > 1e30f ? 1e30 : double(x);
  return x != x ? x : float(wide_angle(clamped, 1));
}
inline double asin_of(double x) { return std::asin(x); }
HWY_INLINE float asin_of(float x) { return x >= -1 && x <= 1 ? float(wide_angle(x, std::sqrt((1.0 - x) * (1.0 + x)))) : float(kNaN); }
inline double acos_of(double x) { return std::acos(x); }
HWY_INLINE float acos_of(float x) { return x >= -1 && x <= 1 ? float(wide_angle(std::sqrt((1.0 - x) * (1.0 + x)), x)) : float(kNaN); }
inline double atan2_of(double y, double x) { return std::atan2(y, x); }
HWY_INLINE float atan2_of(float y, float x) {
  const bool far = std::abs(x) == float(kInfinity) || std::abs(y) == float(kInfinity);  // then the finite parts are negligible
  const double u = std::abs(x) == float(kInfinity) ? std::copysign(1.0, double(x)) : far ? std::copysign(0.0, double(x)) : double(x);
  const double v = std::abs(y) == float(kInfinity) ? std::copysign(1.0, double(y)) : far ? std::copysign(0.0, double(y)) : double(y);
  const double at_zero = std::copysign(std::signbit(x) ? kPi : 0.0, double(y));
  const double angle = u == 0 && v == 0 ? at_zero : wide_angle(v, u);
  return float(((x != x) | (y != y)) ? kNaN : angle);
}
// For moderate angles, as in sin and cos.
HWY_INLINE float tan_of(float x) {
  const double turns = x * (2 / kPi) + kRoundDouble, n = turns - kRoundDouble;
  const double r = (x - n * 1.5707963267341256142) - n * 6.0771005065061922e-11, z = r * r;  // pi / 2 in two parts, as in sine()
  const double sine = r * polynomial(z, 1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800);
  const double cosine = polynomial(z, 1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800);
  const bool swapped = std::bit_cast<uint64_t>(turns) & 1;
  return x == 0 ? x : float((swapped ? -cosine : sine) / (swapped ? sine : cosine));
}

inline double erf_of(double x) { return std::erf(x); }
HWY_INLINE float erf_of(float x) {  // float precision suffices: near 0 a + a P(a^2), else 1 - exp(-a Q(a))
  const float size = std::abs(x), a = size < 4 ? size : 4, z = a * a;
  float p = 7.875875063e-5f;
  p = p * z - 8.016864287e-4f;
  p = p * z + 5.189087423e-3f;
  p = p * z - 2.685421201e-2f;
  p = p * z + 1.128359472e-1f;
  p = p * z - 3.761262667e-1f;
  p = p * z + 1.283791658e-1f;
  float q = -2.101827573e-4f;
  q = q * a + 3.183122675e-3f;
  q = q * a - 2.278610298e-2f;
  q = q * a + 1.050966945e-1f;
  q = q * a + 6.358463805e-1f;
  q = q * a + 1.128475583f;
  const float near = a * p + a, far = 1 - exp_of(-a * q);
  return x != x ? x : std::copysign(a < 1 ? near : far, x);
}
inline double erfc_of(double x) { return std::erfc(x); }
HWY_INLINE float erfc_of(float x) {
  const double e = wide_erfc(std::abs(x));
  return x != x ? x : float(x < 0 ? 2 - e : e);
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
