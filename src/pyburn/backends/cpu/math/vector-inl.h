// exp, log, tanh, sigmoid, erf and gelu of vectors of floats: the functions of math/scalar-inl.h and math/wide-inl.h with fewer
// instructions. Within 4 ulp of the true value; infinities, NaN and subnormals are handled. Compiled for each instruction set: include
// after foreach_target.h.
#if defined(PYBURN_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_VECTOR_MATH_INL_H
#undef PYBURN_VECTOR_MATH_INL_H
#else
#define PYBURN_VECTOR_MATH_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "pyburn/backends/cpu/math/scalar-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;  // the number of entries that fit a register
using FloatVector = hn::Vec<FloatTag>;

// c + c1 x + c2 x^2 + ...
HWY_INLINE FloatVector polynomial_of(FloatVector, float c) { return hn::Set(FloatTag(), c); }
template <class... C>
HWY_INLINE FloatVector polynomial_of(FloatVector x, float c, C... higher) {
  return hn::MulAdd(polynomial_of(x, higher...), x, hn::Set(FloatTag(), c));
}

// y, or NaN if x is NaN: x86's Min and Max return the second operand for NaN, ARM and scalar code return the number.
HWY_INLINE FloatVector nan_kept(FloatVector x, FloatVector y) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || HWY_ARCH_ARM
  return hn::IfThenElse(hn::IsNaN(x), x, y);
#else
  (void)x;
  return y;
#endif
}

// exp(x) = (1 + growth) * 2^n; n is an integer between -150 and 128.
struct ExpVectors {
  FloatVector growth, n;
};
HWY_INLINE FloatVector exp_growth(FloatVector r) {  // exp(r) - 1 for r between -0.35 and 0.35
  const auto p =
      polynomial_of(r, 5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f, 8.3334519073e-3f, 1.3981999507e-3f, 1.9875691500e-4f);
  return hn::MulAdd(p, hn::Mul(r, r), r);
}
HWY_INLINE ExpVectors exp_vectors_between(FloatVector clamped) {  // for x between -104 and 89
  const FloatTag d;
  const auto n = hn::Sub(hn::MulAdd(clamped, hn::Set(d, 1.44269504088896341f), hn::Set(d, kRoundFloat)), hn::Set(d, kRoundFloat));
  const auto r = hn::NegMulAdd(n, hn::Set(d, kLn2Low), hn::NegMulAdd(n, hn::Set(d, kLn2High), clamped));
  return {exp_growth(r), n};
}
HWY_INLINE ExpVectors exp_vectors(FloatVector x) {  // the operand order propagates NaN
  const FloatTag d;
  return exp_vectors_between(hn::Min(hn::Set(d, 89.0f), hn::Max(hn::Set(d, -104.0f), x)));
}
// 2^n for integers n from -126 to 127.
HWY_INLINE FloatVector power_of_two(FloatVector n) {
  const FloatTag d;
  const auto bits = hn::BitCast(hn::RebindToSigned<FloatTag>(), hn::Add(n, hn::Set(d, kRoundFloat + 127.0f)));
  return hn::BitCast(d, hn::ShiftLeft<23>(bits));
}
// y * 2^n for n as returned by exp_vectors(): rounded once, also for subnormal results.
HWY_INLINE FloatVector scaled(FloatVector y, FloatVector n) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  return FloatVector{_mm512_scalef_ps(y.raw, n.raw)};
#else
  const FloatTag d;
  const auto half = hn::Sub(hn::MulAdd(n, hn::Set(d, 0.5f), hn::Set(d, kRoundFloat)), hn::Set(d, kRoundFloat));
  return hn::Mul(hn::Mul(y, power_of_two(half)), power_of_two(hn::Sub(n, half)));
#endif
}

HWY_INLINE FloatVector exp_of(FloatVector x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const ExpVectors e = exp_vectors(x);
  return scaled(hn::Add(e.growth, one), e.n);
#else
  if (HWY_LIKELY(hn::AllTrue(d, hn::And(hn::Gt(x, hn::Set(d, -87.0f)), hn::Lt(x, hn::Set(d, 88.0f)))))) {  // n is added to the exponent
    const ExpVectors e = exp_vectors_between(x);
    const hn::RebindToSigned<FloatTag> whole;
    const auto n = hn::ShiftLeft<23>(hn::BitCast(whole, hn::Add(e.n, hn::Set(d, kRoundFloat))));
    return hn::BitCast(d, hn::Add(hn::BitCast(whole, hn::Add(e.growth, one)), n));
  }
  const ExpVectors e = exp_vectors(x);
  return nan_kept(x, scaled(hn::Add(e.growth, one), e.n));
#endif
}

HWY_INLINE FloatVector sigmoid_of(FloatVector x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f), e = exp_of(hn::Neg(hn::Abs(x)));  // never overflows, and stays accurate for tiny results
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

// m / (m + 2) with m = exp(2 |x|) - 1, which is accurate near 0.
HWY_INLINE FloatVector tanh_of(FloatVector x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f), size = hn::Min(hn::Set(d, 10.0f), hn::Abs(x));
  const ExpVectors e = exp_vectors_between(hn::Add(size, size));
  const auto power = power_of_two(e.n), m = hn::MulAdd(power, e.growth, hn::Sub(power, one));
  return nan_kept(x, hn::CopySign(hn::Div(m, hn::Add(m, hn::Set(d, 2.0f))), x));
}

// x = 2^n * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
struct LogParts {
  FloatVector n, f;
};
// For positive x that are neither infinite nor subnormal, unless the processor supports these.
HWY_INLINE LogParts log_parts(FloatVector x) {
  const FloatTag d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const auto mantissa = FloatVector{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)};
  const auto high = hn::Gt(mantissa, hn::Set(d, 1.41421354f));
  const auto exponent = FloatVector{_mm512_getexp_ps(x.raw)};
  const auto n = hn::IfThenElse(high, hn::Add(exponent, hn::Set(d, 1.0f)), exponent);
  return {n, hn::Sub(hn::IfThenElse(high, hn::Mul(mantissa, hn::Set(d, 0.5f)), mantissa), hn::Set(d, 1.0f))};
#else
  const hn::RebindToSigned<FloatTag> whole;
  const auto bits = hn::BitCast(whole, x), exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(whole, 0x3f3504f3)));
  return {hn::ConvertTo(d, exponent), hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(d, 1.0f))};
#endif
}
// log(1 + f) - f + f^2 / 2, plus `more`, for such an f and its square.
HWY_INLINE FloatVector log_tail(FloatVector f, FloatVector square, FloatVector more) {
  const auto p = polynomial_of(f, 3.3333331174e-1f, -2.4999993993e-1f, 2.0000714765e-1f, -1.6668057665e-1f, 1.4249322787e-1f,
      -1.2420140846e-1f, 1.1676998740e-1f, -1.1514610310e-1f, 7.0376836292e-2f);
  return hn::MulAdd(hn::Mul(p, f), square, more);
}
HWY_INLINE FloatVector log_of_parts(LogParts x) {
  const FloatTag d;
  const auto z = hn::Mul(x.f, x.f);
  const auto tail = hn::NegMulAdd(hn::Set(d, 0.5f), z, log_tail(x.f, z, hn::Mul(x.n, hn::Set(d, kLn2Low))));
  return hn::MulAdd(x.n, hn::Set(d, kLn2High), hn::Add(x.f, tail));
}
HWY_INLINE FloatVector log_of_usual(FloatVector x) { return log_of_parts(log_parts(x)); }
// A logarithm; `of_parts` combines exponent and mantissa.
template <class OfParts>
HWY_INLINE FloatVector logarithm(FloatVector x, OfParts of_parts) {
  const FloatTag d;
  constexpr float infinity = std::numeric_limits<float>::infinity(), smallest = std::numeric_limits<float>::min();
  const auto usual = hn::And(hn::Ge(x, hn::Set(d, smallest)), hn::Lt(x, hn::Set(d, infinity)));
  const auto y = of_parts(log_parts(x));
  if (HWY_LIKELY(hn::AllTrue(d, usual))) return y;
  const auto subnormal = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Set(d, smallest)));
  LogParts small = log_parts(hn::Mul(x, hn::Set(d, 8388608.0f)));
  small.n = hn::Sub(small.n, hn::Set(d, 23.0f));
  const auto negative = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), x);
  const auto special = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, -infinity), negative);
  return hn::IfThenElse(usual, y, hn::IfThenElse(subnormal, of_parts(small), special));
}
HWY_INLINE FloatVector log_of(FloatVector x) {
  return logarithm(x, [](LogParts parts) HWY_ATTR { return log_of_parts(parts); });
}

// Near 0: a + a P(a^2), else 1 - exp(-a Q(a)).
HWY_INLINE FloatVector erf_of(FloatVector x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f), a = hn::Min(hn::Set(d, 4.0f), hn::Abs(x)), z = hn::Mul(a, a);
  const auto p = polynomial_of(
      z, 1.283791658e-1f, -3.761262667e-1f, 1.128359472e-1f, -2.685421201e-2f, 5.189087423e-3f, -8.016864287e-4f, 7.875875063e-5f);
  const auto q = polynomial_of(a, 1.128475583f, 6.358463805e-1f, 1.050966945e-1f, -2.278610298e-2f, 3.183122675e-3f, -2.101827573e-4f);
  const auto near = hn::MulAdd(a, p, a), far = hn::Sub(one, exp_of(hn::Neg(hn::Mul(a, q))));
  return nan_kept(x, hn::CopySign(hn::IfThenElse(hn::Lt(a, one), near, far), x));
}

// Rounded like the processor's instruction, in half the time: an estimate of 1 / sqrt(x) refined by Newton's and Markstein's steps.
HWY_INLINE FloatVector sqrt_of(FloatVector x) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const FloatTag d;
  const auto usual = hn::And(hn::Ge(x, hn::Set(d, 0x1p-100f)), hn::Lt(x, hn::Set(d, std::numeric_limits<float>::infinity())));
  if (HWY_LIKELY(hn::AllTrue(d, usual))) {
    const auto half = hn::Set(d, 0.5f), estimate = FloatVector{_mm512_rsqrt14_ps(x.raw)};
    auto root = hn::Mul(x, estimate), h = hn::Mul(half, estimate);
    const auto error = hn::NegMulAdd(h, root, half);
    root = hn::MulAdd(root, error, root);
    h = hn::MulAdd(h, error, h);
    return hn::MulAdd(hn::NegMulAdd(root, root, x), h, root);
  }
#endif
  return hn::Sqrt(x);
}
inline double sqrt_of(double x) { return std::sqrt(x); }

// y[i] = fn(x[i], more[i]...) for n floats; fn is a function of vectors. y may alias an input.
template <class Fn, class... More>
HWY_INLINE void map_vectors(Fn fn, float* y, int64_t n, const float* x, const More*... more) {
  const FloatTag d;
  constexpr int64_t lanes = HWY_LANES(float);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {  // two vectors at a time hide each other's latency
    const auto a = fn(hn::LoadU(d, x + i), hn::LoadU(d, more + i)...);
    const auto b = fn(hn::LoadU(d, x + i + lanes), hn::LoadU(d, more + i + lanes)...);
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
  }
  for (; i < n; i += lanes) {
    const int64_t rest = std::min(lanes, n - i);
    auto padded = [&](const float* p) HWY_ATTR {
      HWY_ALIGN float last[lanes] = {};
      std::copy_n(p + i, rest, last);
      return hn::Load(d, last);
    };
    HWY_ALIGN float result[lanes];
    hn::Store(fn(padded(x), padded(more)...), d, result);
    std::copy_n(result, rest, y + i);
  }
}

// --- arrays: floats by vectors, doubles one by one ---

// y = exp(x - shift)
inline void exp_minus(const float* x, float shift, float* y, int64_t n) {
  const auto by = hn::Set(FloatTag(), shift);
  map_vectors([&](auto v) HWY_ATTR { return exp_of(hn::Sub(v, by)); }, y, n, x);
}
inline void exp_minus(const double* x, double shift, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - shift);
}
inline void exp_minus(const float* x, const float* shifts, float* y, int64_t n) {
  map_vectors([](auto v, auto by) HWY_ATTR { return exp_of(hn::Sub(v, by)); }, y, n, x, shifts);
}
inline void exp_minus(const double* x, const double* shifts, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - shifts[i]);
}
inline void sigmoid_all(const float* x, float* y, int64_t n) {
  map_vectors([](auto v) HWY_ATTR { return sigmoid_of(v); }, y, n, x);
}
inline void sigmoid_all(const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = sigmoid_of(x[i]);
}
inline void tanh_all(const float* x, float* y, int64_t n) {
  map_vectors([](auto v) HWY_ATTR { return tanh_of(v); }, y, n, x);
}
inline void tanh_all(const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::tanh(x[i]);
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
