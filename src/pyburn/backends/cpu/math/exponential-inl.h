// exp, log and related functions for vectors of floats, within 4 ulp. Requires fused multiply-add (HWY_NATIVE_FMA); other targets use
// math/wide-inl.h. Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_EXPONENTIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_EXPONENTIAL_INL_H
#undef PYBURN_EXPONENTIAL_INL_H
#else
#define PYBURN_EXPONENTIAL_INL_H
#endif

#include <numbers>

#include "pyburn/backends/cpu/math/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

inline constexpr float kLn2Float = float(std::numbers::ln2);

HWY_INLINE FloatVector exp2_of(FloatVector x) {
  const FloatTag d;
  const auto clamped = hn::Min(hn::Set(d, 129.0f), hn::Max(hn::Set(d, -151.0f), x));
  const auto n = hn::Sub(hn::Add(clamped, hn::Set(d, kRoundFloat)), hn::Set(d, kRoundFloat));
  const auto growth = exp_growth(hn::Mul(hn::Sub(clamped, n), hn::Set(d, kLn2Float)));
  return nan_kept(x, scaled(hn::Add(growth, hn::Set(d, 1.0f)), n));
}

// (exp(x) - 1) / 4, which never overflows, for x between -30 and 89.5.
HWY_INLINE FloatVector quarter_of_expm1(FloatVector clamped) {
  const FloatTag d;
  const ExpVectors e = exp_vectors_between(clamped);
  const auto power = power_of_two(hn::Sub(e.n, hn::Set(d, 2.0f)));
  return hn::MulAdd(power, e.growth, hn::Sub(power, hn::Set(d, 0.25f)));
}
HWY_INLINE FloatVector expm1_of(FloatVector x) {
  const FloatTag d;
  const auto y = hn::Mul(quarter_of_expm1(hn::Min(hn::Set(d, 89.5f), hn::Max(hn::Set(d, -30.0f), x))), hn::Set(d, 4.0f));
  return nan_kept(x, hn::CopySign(y, x));
}

// With m = exp(|x|) - 1: (m + m / (m + 1)) / 2.
HWY_INLINE FloatVector sinh_of(FloatVector x) {
  const FloatTag d;
  const auto q = quarter_of_expm1(hn::Min(hn::Set(d, 89.5f), hn::Abs(x)));
  const auto shrunk = hn::Div(q, hn::Add(q, hn::Set(d, 0.25f)));
  return nan_kept(x, hn::CopySign(hn::MulAdd(hn::Set(d, 0.5f), shrunk, hn::Add(q, q)), x));
}
HWY_INLINE FloatVector cosh_of(FloatVector x) {
  const FloatTag d;
  const ExpVectors e = exp_vectors_between(hn::Min(hn::Set(d, 89.5f), hn::Abs(x)));
  const auto half = scaled(hn::Add(e.growth, hn::Set(d, 1.0f)), hn::Sub(e.n, hn::Set(d, 1.0f)));  // a quarter of exp(|x|)
  return nan_kept(x, hn::Add(half, hn::Div(hn::Set(d, 0.25f), half)));
}

// The logarithm itself: x = 2^n * m with m between 3/4 and 3/2, in one of 16 intervals selected by its leading digits. The intervals next
// to 1 have the factor 1, so that no precision is lost there.
HWY_INLINE FloatVector quick_log_of(FloatVector x) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  HWY_ALIGN static constexpr float kInverse[16] = {1.0f, 0.914285719f, 0.864864886f, 0.820512831f, 0.780487776f, 0.744186044f, 0.711111128f,
      0.680851042f, 1.30612242f, 1.25490201f, 1.20754719f, 1.16363633f, 1.12280703f, 1.08474576f, 1.04918027f, 1.0f};
  HWY_ALIGN static constexpr float kLog[16] = {-0.0f, 0.0896121562f, 0.145181984f, 0.19782573f, 0.247836202f, 0.295464218f, 0.340926558f,
      0.384411722f, -0.267062753f, -0.227057487f, -0.188591182f, -0.151549861f, -0.115831822f, -0.0813456401f, -0.0480091646f, -0.0f};
  const FloatTag d;
  const FloatVector m{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src)};
  const auto n = hn::Sub(FloatVector{_mm512_getexp_ps(x.raw)}, FloatVector{_mm512_getexp_ps(m.raw)});
  const __m512i piece = _mm512_srli_epi32(_mm512_castps_si512(m.raw), 19);  // lookups use the low four bits
  const FloatVector inverse{_mm512_permutexvar_ps(piece, _mm512_load_ps(kInverse))},
      log{_mm512_permutexvar_ps(piece, _mm512_load_ps(kLog))};
  const auto r = hn::MulSub(m, inverse, hn::Set(d, 1.0f));
  const auto p = polynomial_of(r, -5.000000000e-01f, 3.333329856e-01f, -2.500170469e-01f, 2.004448771e-01f, -1.601994634e-01f);
  const auto low = hn::MulAdd(hn::Mul(r, r), p, hn::MulAdd(n, hn::Set(d, kLn2Low), r));
  const auto y = hn::Add(hn::MulAdd(n, hn::Set(d, kLn2High), log), low);
  const auto usual = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Set(d, std::numeric_limits<float>::infinity())));
  if (HWY_LIKELY(hn::AllTrue(d, usual))) return y;
  return hn::IfThenElse(usual, y, log_of(x));
#else
  return log_of(x);
#endif
}
inline double quick_log_of(double x) { return std::log(x); }

// log(1 + f) for n = 0, and n * unit + log(1 + f) * scale otherwise. The unit is split into two parts.
HWY_INLINE FloatVector log_of_parts(LogParts x, float scale, float unit, float unit_low) {
  const FloatTag d;
  const auto z = hn::Mul(x.f, x.f), tail = hn::NegMulAdd(hn::Set(d, 0.5f), z, log_tail(x.f, z, hn::Zero(d)));
  const auto small = hn::MulAdd(x.n, hn::Set(d, unit_low), hn::Mul(hn::Add(x.f, tail), hn::Set(d, scale)));
  return hn::MulAdd(x.n, hn::Set(d, unit), small);
}
HWY_INLINE FloatVector log2_of(FloatVector x) {
  return logarithm(x, [](LogParts parts) HWY_ATTR { return log_of_parts(parts, float(std::numbers::log2e), 1.0f, 0.0f); });
}
HWY_INLINE FloatVector log10_of(FloatVector x) {
  constexpr double unit = std::numbers::ln2 / std::numbers::ln10;
  return logarithm(x, [](LogParts parts) HWY_ATTR {
    return log_of_parts(parts, float(std::numbers::log10e), float(unit), float(unit - double(float(unit))));
  });
}

// The rounding error of 1 + x is added to f.
HWY_INLINE FloatVector log1p_of(FloatVector x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f), sum = hn::Add(x, one), lost = hn::Sub(x, hn::Sub(sum, one));
  LogParts parts = log_parts(sum);
  parts.f = hn::MulAdd(lost, power_of_two(hn::Max(hn::Neg(parts.n), hn::Set(d, -126.0f))), parts.f);
  const auto y = hn::CopySign(log_of_parts(parts), x);
  const auto usual = hn::And(hn::Gt(sum, hn::Zero(d)), hn::Lt(sum, hn::Set(d, std::numeric_limits<float>::infinity())));
  if (HWY_LIKELY(hn::AllTrue(d, usual))) return y;
  return hn::IfThenElse(usual, y, log_of(sum));
}
// |x| (or x) above which the term added before the logarithm is negligible.
inline constexpr float kFarOut = 67108864.0f;
HWY_INLINE FloatVector asinh_of(FloatVector x) {
  const FloatTag d;
  const auto a = hn::Abs(x), one = hn::Set(d, 1.0f), near = hn::Min(hn::Set(d, kFarOut), a);
  const auto root = hn::Sqrt(hn::MulAdd(near, near, one)), grown = hn::MulAdd(near, hn::Div(near, hn::Add(root, one)), near);
  const auto far = hn::Gt(a, hn::Set(d, kFarOut));
  const auto y = hn::Add(log1p_of(hn::IfThenElse(far, a, grown)), hn::IfThenElseZero(far, hn::Set(d, kLn2Float)));
  return nan_kept(x, hn::CopySign(y, x));
}
HWY_INLINE FloatVector acosh_of(FloatVector x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f), t = hn::Sub(hn::Min(hn::Set(d, kFarOut), x), one);
  const auto grown = hn::Add(t, hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t))));
  const auto far = hn::Gt(x, hn::Set(d, kFarOut));
  const auto y = hn::Add(log1p_of(hn::IfThenElse(far, x, grown)), hn::IfThenElseZero(far, hn::Set(d, kLn2Float)));
  return hn::IfThenElse(hn::Lt(x, one), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), nan_kept(x, y));
}
HWY_INLINE FloatVector atanh_of(FloatVector x) {
  const FloatTag d;
  const auto a = hn::Abs(x), y = log1p_of(hn::Div(hn::Add(a, a), hn::Sub(hn::Set(d, 1.0f), a)));
  return nan_kept(x, hn::CopySign(hn::Mul(y, hn::Set(d, 0.5f)), x));
}

// exp(-x^2) t P(t) with t = 1 / (1 + 0.375 |x|), where P is a minimax fit with an error of 1.3e-8. The rounding errors of x^2 and t are
// moved into the exponential, as in gelu.
HWY_INLINE FloatVector erfc_of(FloatVector x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f), step = hn::Set(d, 0.375f), a = hn::Min(hn::Set(d, 10.19f), hn::Abs(x));
  const auto divisor = hn::MulAdd(step, a, one), t = hn::Div(one, divisor), divisor_lost = hn::MulSub(step, a, hn::Sub(divisor, one));
  const auto t_lost = hn::NegMulAdd(t, divisor_lost, hn::NegMulAdd(t, divisor, one));
  const auto p = polynomial_of(t, 2.116128206e-1f, 2.106609344e-1f, 2.052315176e-1f, 1.218323261e-1f, 2.729369104e-1f, -2.282416224e-1f,
      4.313443899e-1f, -2.868043780e-1f, 6.142709032e-2f);
  const auto square = hn::Mul(a, a), square_lost = hn::MulSub(a, a, square);
  const ExpVectors e = exp_vectors_between(hn::Neg(square));
  const auto lost = hn::MulSub(t_lost, hn::MulAdd(t, hn::Set(d, 2.0f), one), square_lost);
  const auto growth = hn::Add(hn::MulAdd(lost, e.growth, lost), e.growth), weight = hn::Mul(p, t);
  const auto y = scaled(hn::MulAdd(weight, growth, weight), e.n);
  return nan_kept(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0f), y), y));
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
