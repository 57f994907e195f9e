// exp and log of vectors of doubles, and functions based on them. Requires fused multiply-add (HWY_NATIVE_FMA). Compiled for each
// instruction set: include after foreach_target.h.
#if defined(PYBURN_DOUBLE_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DOUBLE_VECTOR_INL_H
#undef PYBURN_DOUBLE_VECTOR_INL_H
#else
#define PYBURN_DOUBLE_VECTOR_INL_H
#endif

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "pyburn/backends/cpu/math/scalar-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DoubleTag = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<DoubleTag>;

HWY_INLINE DoubleVector all_of(double c) { return hn::Set(DoubleTag(), c); }
HWY_INLINE DoubleVector polynomial_of(DoubleVector, double c) { return all_of(c); }
template <class... C>
HWY_INLINE DoubleVector polynomial_of(DoubleVector x, double c, C... higher) {
  return hn::MulAdd(polynomial_of(x, higher...), x, all_of(c));
}

// --- exp ---

// exp(r) - 1 for r between -0.347 and 0.347.
HWY_INLINE DoubleVector exp_growth(DoubleVector r) {
  const auto p = polynomial_of(r, 0.5000000000000001, 0.16666666666666669, 0.04166666666662399, 0.008333333333330051, 0.0013888888917281794,
      0.00019841269863105968, 2.480152119021773e-05, 2.7557268378684192e-06, 2.7620138719733994e-07, 2.5100424157005067e-08);
  return hn::MulAdd(p, hn::Mul(r, r), r);
}
// exp(x) is (1 + growth) * 2^n; n is an integer.
struct DoubleExp {
  DoubleVector growth, n;
};
inline constexpr double kLn2Rest = 2.3190468138462996e-17;  // of ln 2: the part beyond double precision
HWY_INLINE DoubleVector nearest_whole(DoubleVector x) { return hn::Sub(hn::Add(x, all_of(kRoundDouble)), all_of(kRoundDouble)); }
HWY_INLINE DoubleExp exp_parts(DoubleVector x) {  // x between -1000 and 1000
  const auto n = hn::Sub(hn::MulAdd(x, all_of(std::numbers::log2e), all_of(kRoundDouble)), all_of(kRoundDouble));
  const auto r = hn::NegMulAdd(n, all_of(kLn2Rest), hn::NegMulAdd(n, all_of(std::numbers::ln2), x));
  return {exp_growth(r), n};
}
// y * 2^n for y near 1, if the result is neither subnormal nor infinite.
HWY_INLINE DoubleVector scaled(DoubleVector y, DoubleVector n) {
  const hn::RebindToSigned<DoubleTag> whole;
  const auto bits = hn::ShiftLeft<52>(hn::BitCast(whole, hn::Add(n, all_of(kRoundDouble))));
  return hn::BitCast(DoubleTag(), hn::Add(hn::BitCast(whole, y), bits));
}
// 2^n for integers n from -1022 to 1023.
HWY_INLINE DoubleVector power_of_two(DoubleVector n) { return scaled(all_of(1.0), n); }

HWY_INLINE DoubleVector exp_of_usual(DoubleVector x) {  // for x between -708 and 709
  const DoubleExp e = exp_parts(x);
  return scaled(hn::Add(e.growth, all_of(1.0)), e.n);
}
HWY_INLINE DoubleVector exp2_of_usual(DoubleVector x) {  // for x between -1021 and 1023; exact for powers of two
  const auto n = nearest_whole(x);
  return scaled(hn::Add(exp_growth(hn::Mul(hn::Sub(x, n), all_of(std::numbers::ln2))), all_of(1.0)), n);
}
// A quarter of the result never overflows, for x between -40 and 709.7.
HWY_INLINE DoubleVector expm1_of_usual(DoubleVector x) {
  const DoubleExp e = exp_parts(x);
  const auto power = power_of_two(hn::Sub(e.n, all_of(2.0)));
  return hn::CopySign(hn::Mul(hn::MulAdd(power, e.growth, hn::Sub(power, all_of(0.25))), all_of(4.0)), x);
}

// --- log, as a sum of two doubles ---

// An unevaluated sum; `low` is small.
struct TwoDoubles {
  DoubleVector high, low;
};
// The sum of a and b, where |a| >= |b| or a is 0.
HWY_INLINE TwoDoubles sum_of_two(DoubleVector a, DoubleVector b) {
  const auto high = hn::Add(a, b);
  return {high, hn::Add(hn::Sub(a, high), b)};
}
HWY_INLINE TwoDoubles product_of_two(DoubleVector a, DoubleVector b) {
  const auto high = hn::Mul(a, b);
  return {high, hn::MulSub(a, b, high)};
}

// x = 2^n * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), for positive x that are neither infinite nor subnormal.
struct DoubleLogParts {
  DoubleVector n, f;
};
HWY_INLINE DoubleLogParts log_parts(DoubleVector x) {
  const DoubleTag d;
  const hn::RebindToUnsigned<DoubleTag> whole;
  constexpr double shift = 4503599627370496.0;  // 2^52: converts an integer in the low bits to a double
  const uint64_t one = std::bit_cast<uint64_t>(1.0), least = std::bit_cast<uint64_t>(std::numbers::sqrt2 / 2);
  const auto bits = hn::BitCast(whole, x), biased = hn::ShiftRight<52>(hn::Add(bits, hn::Set(whole, one - least)));
  const auto n = hn::Sub(hn::BitCast(d, hn::Or(biased, hn::Set(whole, std::bit_cast<uint64_t>(shift)))), all_of(shift + 1023));
  const auto m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(hn::Sub(biased, hn::Set(whole, uint64_t(1023))))));
  return {n, hn::Sub(m, all_of(1.0))};
}
// log(1 + f) = 2 s + s z (2/3 + z Q(z)) with s = f / (2 + f), z = s^2: accurate to 2^-58, or to 2^-64 with a low part everywhere.
template <bool precise>
HWY_INLINE TwoDoubles log_of_mantissa(DoubleVector f) {
  const auto two = all_of(2.0), divisor = hn::Add(f, two), divisor_low = hn::Sub(f, hn::Sub(divisor, two));
  const auto inverse = hn::Div(all_of(1.0), divisor), s = hn::Mul(f, inverse);
  const auto s_low = hn::Mul(hn::NegMulAdd(s, divisor_low, hn::NegMulAdd(s, divisor, f)), inverse);
  const auto z = hn::Mul(s, s), q = hn::Mul(z, polynomial_of(z, 0.4, 0.2857142857142937, 0.2222222222165554, 0.18181818335471234,
                                                   0.15384594954138783, 0.13334805149566298, 0.11706224136681292, 0.11723306221321021));
  constexpr double third = 2.0 / 3, third_rest = 3.700743415417188e-17;
  TwoDoubles tail;
  if constexpr (precise) {
    const auto z_low = hn::MulAdd(hn::Add(s, s), s_low, hn::MulSub(s, s, z));
    TwoDoubles p = sum_of_two(all_of(third), q);
    p.low = hn::Add(p.low, all_of(third_rest));
    TwoDoubles u = product_of_two(z, p.high);
    u.low = hn::MulAdd(z, p.low, hn::MulAdd(z_low, p.high, u.low));
    tail = product_of_two(s, u.high);
    tail.low = hn::MulAdd(s, u.low, hn::MulAdd(s_low, u.high, tail.low));
  } else {
    tail = {hn::Mul(hn::Mul(s, z), hn::Add(all_of(third), q)), hn::Zero(DoubleTag())};
  }
  TwoDoubles sum = sum_of_two(hn::Add(s, s), tail.high);
  sum.low = hn::Add(sum.low, hn::MulAdd(two, s_low, tail.low));
  return sum;
}
// n * unit + log(x) * scale for logarithms to other bases; unit and scale are sums of two doubles.
HWY_INLINE DoubleVector log10_of_usual(DoubleVector x) {
  constexpr double unit = 0.30102999566383914, unit_low = 1.42050232272661e-13;  // log10(2): n * unit.high is exact
  constexpr double scale = std::numbers::log10e, scale_low = 1.098319650216765e-17;
  const DoubleLogParts parts = log_parts(x);
  const TwoDoubles log = log_of_mantissa<false>(parts.f);
  TwoDoubles y = product_of_two(log.high, all_of(scale));
  y.low = hn::MulAdd(log.low, all_of(scale), hn::MulAdd(log.high, all_of(scale_low), y.low));
  const TwoDoubles sum = sum_of_two(hn::Mul(parts.n, all_of(unit)), y.high);
  return hn::Add(sum.high, hn::Add(sum.low, hn::MulAdd(parts.n, all_of(unit_low), y.low)));
}

// --- pow ---

// |x|^y for x that is neither 0, infinite nor subnormal, if the exponent of the result is between -1020 and 1020.
HWY_INLINE DoubleVector power_exponent(DoubleVector x, DoubleVector y, DoubleVector& low) {  // y log2(x) as a sum of two doubles
  constexpr double scale = std::numbers::log2e, scale_low = 2.0355273740931033e-17;
  const DoubleLogParts parts = log_parts(x);
  const TwoDoubles log = log_of_mantissa<true>(parts.f);
  TwoDoubles bits = product_of_two(log.high, all_of(scale));
  bits.low = hn::MulAdd(log.low, all_of(scale), hn::MulAdd(log.high, all_of(scale_low), bits.low));
  TwoDoubles sum = sum_of_two(parts.n, bits.high);
  sum.low = hn::Add(sum.low, bits.low);
  const TwoDoubles e = product_of_two(y, sum.high);
  low = hn::MulAdd(y, sum.low, e.low);
  return e.high;
}
HWY_INLINE DoubleVector power_of_exponent(DoubleVector high, DoubleVector low) {
  const auto n = nearest_whole(high);
  const auto r = hn::Mul(hn::Add(hn::Sub(high, n), low), all_of(std::numbers::ln2));
  return scaled(hn::Add(exp_growth(r), all_of(1.0)), n);
}

// --- tan ---

// sin / cos of the remainder modulo pi / 2, with pi / 2 in three doubles: accurate enough up to 39000.
HWY_INLINE DoubleVector tan_of_usual(DoubleVector x) {
  const DoubleTag d;
  const hn::RebindToSigned<DoubleTag> whole;
  const auto turns = hn::MulAdd(x, all_of(2 / std::numbers::pi), all_of(kRoundDouble)), n = hn::Sub(turns, all_of(kRoundDouble));
  auto r = hn::NegMulAdd(n, all_of(std::numbers::pi / 2), x);
  r = hn::NegMulAdd(n, all_of(6.123233995736766e-17), r);
  r = hn::NegMulAdd(n, all_of(-1.4973849048591698e-33), r);
  const auto z = hn::Mul(r, r);
  const auto sine = hn::MulAdd(hn::Mul(r, z),
      polynomial_of(z, -0.16666666666666666, 0.008333333333330936, -0.00019841269836740527, 2.7557316093196066e-06, -2.5051129895962807e-08,
          1.5917988944318716e-10),
      r);
  const auto cosine = polynomial_of(z, 1.0, -0.5, 0.041666666666666664, -0.0013888888888887389, 2.48015872987544e-05,
      -2.7557317265876615e-07, 2.087614504910828e-09, -1.1382544623404291e-11);
  const auto odd = hn::RebindMask(d, hn::TestBit(hn::BitCast(whole, turns), hn::Set(whole, int64_t(1))));
  return hn::Div(hn::IfThenElse(odd, hn::Neg(cosine), sine), hn::IfThenElse(odd, sine, cosine));
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
