// erf, erfc and gelu of vectors of doubles, based on the tail of the normal distribution. Compiled for each instruction set: include after
// foreach_target.h.
#if defined(PYBURN_DOUBLE_NORMAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DOUBLE_NORMAL_INL_H
#undef PYBURN_DOUBLE_NORMAL_INL_H
#else
#define PYBURN_DOUBLE_NORMAL_INL_H
#endif

#include "pyburn/backends/cpu/math/double_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// erfc(t) = weight * (1 + growth) * 2^n.
struct DoubleTail {
  DoubleVector weight, growth, n;
  HWY_INLINE DoubleVector value() const { return scaled(hn::MulAdd(weight, growth, weight), n); }
};
inline constexpr double kTailCentre = 4;
HWY_INLINE DoubleVector tail_polynomial(DoubleVector q) {
  return polynomial_of(q, 1.095995661000491, -0.9765487290808821, 0.7732087022652376, -0.5408538313132211, 0.33085158787798036,
      -0.1740109372404169, 0.07638151491005721, -0.026370053332646057, 0.006112055647155079, -0.0002809589335705346,
      -0.00045505263111601915, 0.00017681318595842696, -3.6353562418993664e-06, -1.8862143490072932e-05, 4.694769789602143e-06,
      1.4269265704586864e-06, -8.465104078034652e-07, -7.917897139385448e-08, 1.2412723983428563e-07, 3.5841942803371227e-09,
      -1.5230550877651046e-08, -7.226225720845655e-10, 8.812683043308519e-10);
}
// For t from 0 to 26.5, possibly rounded, and its square in two parts. The weight is G(1 - 2 k u) u with u = 1 / (t + k), where G
// is a minimax fit. The rounding errors of the square and of u are moved into the growth, because the exponential would amplify
// them.
HWY_INLINE DoubleTail tail_of(DoubleVector t, DoubleVector t_lost, DoubleVector square, DoubleVector square_lost) {
  constexpr double k = kTailCentre;
  const auto one = all_of(1.0), divisor = hn::Add(t, all_of(k)), added = hn::Sub(divisor, t);
  const auto divisor_lost = hn::Add(hn::Add(hn::Sub(t, hn::Sub(divisor, added)), hn::Sub(all_of(k), added)), t_lost);
  const auto u = hn::Div(one, divisor), u_lost = hn::NegMulAdd(u, divisor_lost, hn::NegMulAdd(u, divisor, one));
  const auto q = hn::NegMulAdd(all_of(2 * k), u, one);
  const auto g = tail_polynomial(q);
  const auto sensitivity = polynomial_of(q, 1.8722, -1.6523, 0.9892);  // ratio of the weight to u
  const DoubleExp e = exp_parts(hn::Neg(square));
  const auto lost = hn::MulSub(u_lost, sensitivity, square_lost);
  return {hn::Mul(g, u), hn::Add(hn::MulAdd(lost, e.growth, lost), e.growth), e.n};
}
HWY_INLINE DoubleTail tail_of(DoubleVector t) {
  const auto square = hn::Mul(t, t);
  return tail_of(t, hn::Zero(DoubleTag()), square, hn::MulSub(t, t, square));
}

// Without the rounding correction.
HWY_INLINE DoubleTail quick_tail(DoubleVector t) {
  const auto u = hn::Div(all_of(1.0), hn::Add(t, all_of(kTailCentre)));
  const DoubleExp e = exp_parts(hn::Neg(hn::Mul(t, t)));
  return {hn::Mul(tail_polynomial(hn::NegMulAdd(all_of(2 * kTailCentre), u, all_of(1.0))), u), e.growth, e.n};
}

HWY_INLINE DoubleVector erf_of_number(DoubleVector x) {  // not for NaN; the rounding error is negligible in the tail
  const auto t = hn::Min(hn::Abs(x), all_of(6.0)), z = hn::Mul(t, t);
  const auto near = hn::MulAdd(polynomial_of(z, 0.12837916709551256, -0.3761263890318335, 0.11283791670932594, -0.026866170640255645,
                                   0.00522397757126982, -0.0008548323506677763, 0.00012055190337021296, -1.4921921653420798e-05,
                                   1.6399123262977372e-06, -1.5697115571004142e-07, 1.0675693706713948e-08),
                 t, t),
             far = hn::Sub(all_of(1.0), quick_tail(t).value());
  return hn::CopySign(hn::IfThenElse(hn::Lt(t, all_of(0.85)), near, far), x);
}
HWY_INLINE DoubleVector erfc_of_usual(DoubleVector x) {  // up to 26 on either side
  const auto y = tail_of(hn::Abs(x)).value();
  return hn::IfThenElse(hn::Lt(x, hn::Zero(DoubleTag())), hn::Sub(all_of(2.0), y), y);
}

// Where the tail is not yet subnormal, or is negligible.
inline constexpr double kFarthestGelu = 37;
struct DoubleNormal {
  DoubleVector size;
  DoubleTail tail;  // twice the tail of the normal distribution
};
HWY_INLINE DoubleNormal normal_of(DoubleVector x) {
  const auto size = hn::Min(hn::Abs(x), all_of(kFarthestGelu)), half = all_of(0.5), square = hn::Mul(size, size);
  const auto lost = hn::MulSub(size, size, square);
  constexpr double scale = std::numbers::sqrt2 / 2, scale_rest = -4.833646656726457e-17;
  const auto t = hn::Mul(size, all_of(scale)), t_lost = hn::MulAdd(size, all_of(scale_rest), hn::MulSub(size, all_of(scale), t));
  return {size, tail_of(t, t_lost, hn::Mul(square, half), hn::Mul(lost, half))};
}
HWY_INLINE DoubleVector gelu_of_usual(DoubleVector x) {  // from -37 on
  const DoubleNormal n = normal_of(x);
  const auto linear = hn::IfThenElse(hn::Gt(x, hn::Zero(DoubleTag())), x, hn::And(x, all_of(-0.0)));
  return hn::NegMulAdd(hn::Mul(n.size, all_of(0.5)), n.tail.value(), linear);
}
// Its derivative: the distribution function plus x times the density.
HWY_INLINE DoubleVector gelu_slope_of_usual(DoubleVector x) {
  constexpr double density = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const DoubleNormal n = normal_of(x);
  const auto above = hn::NegMulAdd(n.tail.weight, all_of(0.5), hn::Mul(n.size, all_of(density)));
  const auto part = hn::Mul(above, scaled(hn::Add(n.tail.growth, all_of(1.0)), n.tail.n));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(DoubleTag())), hn::Neg(part), hn::Add(all_of(1.0), part));
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
