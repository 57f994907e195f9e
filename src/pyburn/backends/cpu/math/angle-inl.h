// sin, cos, tan and their inverses for vectors of floats, within 4 ulp. Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_ANGLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_ANGLE_INL_H
#undef PYBURN_ANGLE_INL_H
#else
#define PYBURN_ANGLE_INL_H
#endif

#include <numbers>

#include "pyburn/backends/cpu/math/vector-inl.h"
#include "pyburn/backends/cpu/math/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// sin(x + quarters * pi / 2). Up to this limit the angle is reduced in floats: pi / 2 is split into three pieces, and subtracting the first
// is exact. Larger angles are computed one by one, as are all angles without fused multiply-add.
inline constexpr float kNearAngle = HWY_NATIVE_FMA ? 1e5f : 0.0f;
template <class Near, class Far>
HWY_NOINLINE FloatVector angles_one_by_one(FloatVector x, Near near, Far far) {
  const FloatTag d;
  HWY_ALIGN float lane[HWY_LANES(float)];
  hn::Store(x, d, lane);
  if (hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, kLargestAngle))))
    for (float& v : lane) v = near(v);
  else
    for (float& v : lane) v = std::abs(v) <= kLargestAngle ? near(v) : far(v);
  return hn::Load(d, lane);
}
// x = rest + n * pi / 2, with |rest| <= pi / 4.
struct AngleParts {
  FloatVector rest, square;
  hn::Vec<hn::RebindToSigned<FloatTag>> n;  // the low bits of n
};
HWY_INLINE AngleParts angle_parts(FloatVector x) {
  const FloatTag d;
  const auto turns = hn::MulAdd(x, hn::Set(d, 0.636619772f), hn::Set(d, kRoundFloat)), n = hn::Sub(turns, hn::Set(d, kRoundFloat));
  auto r = hn::NegMulAdd(n, hn::Set(d, 1.57079625f), x);  // the pieces are positive, so that -0 keeps its sign
  r = hn::NegMulAdd(n, hn::Set(d, 7.54978942e-8f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 5.39030253e-15f), r);
  return {r, hn::Mul(r, r), hn::BitCast(hn::RebindToSigned<FloatTag>(), turns)};
}
HWY_INLINE auto is_near_angle(FloatVector x) { return hn::Le(hn::Abs(x), hn::Set(FloatTag(), kNearAngle)); }

HWY_INLINE FloatVector sine(FloatVector x, int32_t quarters) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> whole;
  const auto [r, z, n] = angle_parts(x);
  const auto s = hn::Mul(polynomial_of(z, 1.0f, -1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f), r);
  const auto c = polynomial_of(z, 1.0f, -0.5f, 4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f);
  const auto quarter = hn::Add(n, hn::Set(whole, quarters));
  const auto odd = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(whole, 1)));
  const auto sign = hn::ShiftLeft<30>(hn::And(quarter, hn::Set(whole, 2)));
  const auto y = hn::Xor(hn::IfThenElse(odd, c, s), hn::BitCast(d, sign));
  const auto near = is_near_angle(x);
  if (HWY_LIKELY(hn::AllTrue(d, near))) return y;
  const auto others = quarters ? angles_one_by_one(
                                     x, [](float v) HWY_ATTR { return cos_of(v); }, [](float v) { return std::cos(v); })
                               : angles_one_by_one(
                                     x, [](float v) HWY_ATTR { return sin_of(v); }, [](float v) { return std::sin(v); });
  return hn::IfThenElse(near, y, others);
}
HWY_INLINE FloatVector sin_of(FloatVector x) { return sine(x, 0); }
HWY_INLINE FloatVector cos_of(FloatVector x) { return sine(x, 1); }
inline double sin_of(double x) { return std::sin(x); }
inline double cos_of(double x) { return std::cos(x); }

HWY_INLINE FloatVector tan_of(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> whole;
  const auto [r, z, n] = angle_parts(x);
  const auto p = polynomial_of(z, 3.333315551e-1f, 1.333883405e-1f, 5.340837315e-2f, 2.444070950e-2f, 3.102656920e-3f, 9.395793080e-3f);
  const auto tangent = hn::MulAdd(hn::Mul(p, z), r, r);
  const auto odd = hn::RebindMask(d, hn::TestBit(n, hn::Set(whole, 1)));
  const auto y = hn::IfThenElse(odd, hn::Div(hn::Set(d, -1.0f), tangent), tangent);
  const auto near = is_near_angle(x);
  if (HWY_LIKELY(hn::AllTrue(d, near))) return y;
  const auto others = angles_one_by_one(
      x, [](float v) HWY_ATTR { return tan_of(v); }, [](float v) { return std::tan(v); });
  return hn::IfThenElse(near, y, others);
}
inline double tan_of(double x) { return std::tan(x); }

inline constexpr float kHalfPi = float(std::numbers::pi / 2);

// The arc tangent of the smaller of |x| and 1 / |x|.
HWY_INLINE FloatVector atan_of(FloatVector x) {
  const FloatTag d;
  const auto a = hn::Abs(x), one = hn::Set(d, 1.0f);
  const auto t = hn::Div(hn::Min(one, a), hn::Max(one, a)), z = hn::Mul(t, t);
  const auto p = polynomial_of(z, -3.333315253e-1f, 1.999377310e-1f, -1.421105564e-1f, 1.066600308e-1f, -7.552210242e-2f, 4.321181029e-2f,
      -1.636789367e-2f, 2.920683241e-3f);
  const auto angle = hn::MulAdd(hn::Mul(p, z), t, t);
  const auto y = hn::IfThenElse(hn::Gt(a, one), hn::Sub(hn::Set(d, kHalfPi), angle), angle);
  return nan_kept(x, hn::CopySign(y, x));
}

// asin(s) for s up to 1/2; above, asin(x) = pi / 2 - 2 asin(s) with s^2 = (1 - x) / 2.
struct ArcParts {
  FloatVector arc;
  hn::Mask<FloatTag> far;
};
HWY_INLINE ArcParts arc_parts(FloatVector a) {
  const FloatTag d;
  const auto half = hn::Set(d, 0.5f), z_far = hn::NegMulAdd(half, a, half);
  const auto far = hn::Gt(a, half);
  const auto z = hn::IfThenElse(far, z_far, hn::Mul(a, a)), s = hn::IfThenElse(far, hn::Sqrt(z_far), a);
  const auto p = polynomial_of(z, 1.666675210e-1f, 7.495288551e-2f, 4.547161236e-2f, 2.417291701e-2f, 4.217829183e-2f);
  return {hn::MulAdd(hn::Mul(p, z), s, s), far};
}
HWY_INLINE FloatVector asin_of(FloatVector x) {
  const FloatTag d;
  const auto [arc, far] = arc_parts(hn::Abs(x));
  return nan_kept(x, hn::CopySign(hn::IfThenElse(far, hn::NegMulAdd(hn::Set(d, 2.0f), arc, hn::Set(d, kHalfPi)), arc), x));
}
HWY_INLINE FloatVector acos_of(FloatVector x) {
  const FloatTag d;
  const auto [arc, far] = arc_parts(hn::Abs(x));
  const auto twice = hn::Add(arc, arc), negative = hn::Sub(hn::Set(d, float(std::numbers::pi)), twice);
  const auto y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), negative, twice);
  return nan_kept(x, hn::IfThenElse(far, y, hn::Sub(hn::Set(d, kHalfPi), hn::CopySign(arc, x))));
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
