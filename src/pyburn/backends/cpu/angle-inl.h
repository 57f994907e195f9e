// sin and cos of vectors of floats, within 4 ulp. Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_ANGLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_ANGLE_INL_H
#undef PYBURN_ANGLE_INL_H
#else
#define PYBURN_ANGLE_INL_H
#endif

#include "pyburn/backends/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// sin(x + quarters * pi / 2). Up to here the angle is reduced in floats: pi / 2 in three pieces, of which the first leaves an exact
// rest. Larger angles go one by one, as do all where products are rounded before the sum.
inline constexpr float kNearAngle = HWY_NATIVE_FMA ? 1e5f : 0.0f;
inline HWY_NOINLINE FloatVector sine_one_by_one(FloatVector x, int32_t quarters) {
  const FloatTag d;
  HWY_ALIGN float lane[HWY_LANES(float)];
  hn::Store(x, d, lane);
  if (hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, kLargestAngle))))
    for (float& v : lane) v = quarters ? cos_of(v) : sin_of(v);
  else
    for (float& v : lane) v = std::abs(v) <= kLargestAngle ? (quarters ? cos_of(v) : sin_of(v)) : quarters ? std::cos(v) : std::sin(v);
  return hn::Load(d, lane);
}
HWY_INLINE FloatVector sine(FloatVector x, int32_t quarters) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> whole;
  const auto turns = hn::MulAdd(x, hn::Set(d, 0.636619772f), hn::Set(d, kRoundFloat)), n = hn::Sub(turns, hn::Set(d, kRoundFloat));
  auto r = hn::NegMulAdd(n, hn::Set(d, 1.57079625f), x);  // the pieces are positive: with them -0 keeps its sign
  r = hn::NegMulAdd(n, hn::Set(d, 7.54978942e-8f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 5.39030253e-15f), r);
  const auto z = hn::Mul(r, r);
  const auto s = hn::Mul(polynomial_of(z, 1.0f, -1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f), r);
  const auto c = polynomial_of(z, 1.0f, -0.5f, 4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f);
  const auto quarter = hn::Add(hn::BitCast(whole, turns), hn::Set(whole, quarters));
  const auto odd = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(whole, 1)));
  const auto sign = hn::ShiftLeft<30>(hn::And(quarter, hn::Set(whole, 2)));
  const auto y = hn::Xor(hn::IfThenElse(odd, c, s), hn::BitCast(d, sign));
  const auto near = hn::Le(hn::Abs(x), hn::Set(d, kNearAngle));  // a mask
  return HWY_LIKELY(hn::AllTrue(d, near)) ? y : hn::IfThenElse(near, y, sine_one_by_one(x, quarters));
}
HWY_INLINE FloatVector sin_of(FloatVector x) { return sine(x, 0); }
HWY_INLINE FloatVector cos_of(FloatVector x) { return sine(x, 1); }
inline double sin_of(double x) { return std::sin(x); }
inline double cos_of(double x) { return std::cos(x); }

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
