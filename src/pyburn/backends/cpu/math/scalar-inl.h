// exp, log, tanh, sigmoid, sin and cos of floats without branches, so that loops over them vectorise; doubles use libm. Within 4
// ulp of the true value; infinities, NaN and subnormals are handled. Compiled for each instruction set: include after
// foreach_target.h.
#if defined(PYBURN_SCALAR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_SCALAR_MATH_INL_H
#undef PYBURN_SCALAR_MATH_INL_H
#else
#define PYBURN_SCALAR_MATH_INL_H
#endif

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// Adding this constant rounds a moderate number to the nearest integer, which is then in the low bits.
inline constexpr float kRoundFloat = 12582912.0f;                           // 1.5 * 2^23
inline constexpr double kRoundDouble = 6755399441055744.0;                  // 1.5 * 2^52
inline constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // high * n is exact for every exponent n of a float

// exp(x) = (1 + growth) * scale * rest: the power of two is split into two factors, so that neither overflows before the product does.
struct ExpParts {
  float growth, scale, rest;
};
HWY_INLINE ExpParts exp_parts(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  const float shifted = clamped * 1.44269504088896341f + kRoundFloat;
  const float n = shifted - kRoundFloat;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const int32_t k = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRoundFloat), half = k >> 1;
  return {p * (r * r) + r, std::bit_cast<float>((half + 127) << 23), std::bit_cast<float>((k - half + 127) << 23)};
}

inline double exp_of(double x) { return std::exp(x); }
inline float exp_of(float x) {
  const ExpParts e = exp_parts(x);
  return x != x ? x : (e.growth + 1.0f) * e.scale * e.rest;
}

inline double log_of(double x) { return std::log(x); }
inline float log_of(float x) {
  constexpr float smallest = std::numeric_limits<float>::min(), infinity = std::numeric_limits<float>::infinity();
  const bool subnormal = x < smallest;
  const uint32_t bits = std::bit_cast<uint32_t>(subnormal ? x * 8388608.0f : x);  // unsigned: x < 0 wraps around and is replaced below
  // x = 2^n * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2)
  const int32_t exponent = std::bit_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  const float f = std::bit_cast<float>(bits - (uint32_t(exponent) << 23)) - 1.0f, z = f * f;
  const float n = float(exponent) - (subnormal ? 23.0f : 0.0f);
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float tail = p * f * z + n * kLn2Low - 0.5f * z;
  const float result = (f + tail) + n * kLn2High;
  const float special = x == 0.0f ? -infinity : x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : x;  // also for infinity and NaN
  return x > 0.0f && x < infinity ? result : special;
}

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
inline float sigmoid_of(float x) {
  const float e = exp_of(x < 0.0f ? x : -x);  // never overflows, and stays accurate for tiny results
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

inline double tanh_of(double x) { return std::tanh(x); }
inline float tanh_of(float x) {
  const float a = x < 0.0f ? -x : x, z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * a + a;
  const float far = 1.0f - 2.0f / (exp_of(a + a) + 1.0f);
  return std::copysign(a < 0.625f ? near : far, x);
}

// sin and cos reduce the angle in double precision, which is precise enough up to this limit; above, and for infinity, use libm.
inline constexpr float kLargestAngle = 1e6f;

// sin(x + quarters * pi / 2).
inline float sine(float x, int32_t quarters) {
  const double turns = double(x) * 0.63661977236758134308 + kRoundDouble;
  const double n = turns - kRoundDouble;
  const float r = float((double(x) - n * 1.5707963267341256142) - n * 6.0771005065061922e-11);  // pi / 2 in two parts of 33 and 53 bits
  const float z = r * r;
  float s = -1.9515295891e-4f;
  s = s * z + 8.3321608736e-3f;
  s = s * z - 1.6666654611e-1f;
  s = s * z * r + r;
  float c = 2.443315711809948e-5f;
  c = c * z - 1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = c * z * z - 0.5f * z + 1.0f;
  const int32_t quarter = int32_t(std::bit_cast<int64_t>(turns)) + quarters;
  const float value = quarter & 1 ? c : s;
  return quarter & 2 ? -value : value;
}
inline float sin_of(float x) { return x == 0.0f ? x : sine(x, 0); }  // -0 keeps its sign
inline float cos_of(float x) { return sine(x, 1); }

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
