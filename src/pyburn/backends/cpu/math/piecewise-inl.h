// A smooth function of floats >= 0 as polynomials of degree 6, one per interval, with coefficients in registers: each lane selects those of
// its interval with one instruction. Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_PIECEWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_PIECEWISE_INL_H
#undef PYBURN_PIECEWISE_INL_H
#else
#define PYBURN_PIECEWISE_INL_H
#endif

#include <cmath>
#include <numbers>

#include "pyburn/backends/cpu/math/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// Requires registers with enough lanes for a table, and fused multiply-add.
#undef PYBURN_PIECEWISE
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define PYBURN_PIECEWISE 1

// As many intervals as one instruction can look up, starting at 0 or elsewhere.
template <bool from_zero>
class Pieces {
 public:
  static constexpr int kPieces = HWY_TARGET <= HWY_AVX3 ? 32 : 8, kDegree = 6;

  // Interval lengths shrink like 1 / a, which suits functions that decay like exp(-a^2 / 2): the index of the interval of a is (slope a +
  // linear) a + shift, rounded. Each polynomial interpolates the function at the Chebyshev nodes.
  Pieces(double (*fn)(double), double begin, double end) {
    const double linear = from_zero ? 1 : 0, margin = 0.05;
    const double slope = from_zero ? (kPieces - 0.6 - end) / (end * end) : (kPieces - 2 * margin) / (end * end - begin * begin);
    const double shift = from_zero ? 0 : margin - 0.5 - slope * begin * begin;
    slope_ = float(slope), shift_ = float(shift);
    auto place = [&](double p) { return (std::sqrt(linear + 4 * slope * (p - shift)) - linear) / (2 * slope); };
    for (int piece = 0; piece < kPieces; ++piece) {
      const double low = from_zero && piece == 0 ? 0 : place(piece - 0.5), high = place(piece + 0.5);
      centre_[piece] = float((low + high) / 2);
      double node[kDegree + 1], difference[kDegree + 1], polynomial[kDegree + 1] = {};
      for (int i = 0; i <= kDegree; ++i) {
        node[i] = (high - low) / 2 * std::cos((i + 0.5) * std::numbers::pi / (kDegree + 1));
        difference[i] = fn(double(centre_[piece]) + node[i]);
      }
      for (int order = 1; order <= kDegree; ++order)
        for (int i = kDegree; i >= order; --i) difference[i] = (difference[i] - difference[i - 1]) / (node[i] - node[i - order]);
      for (int i = kDegree; i >= 0; --i) {  // Newton's form, expanded
        for (int k = kDegree; k > 0; --k) polynomial[k] = polynomial[k - 1] - node[i] * polynomial[k];
        polynomial[0] = difference[i] - node[i] * polynomial[0];
      }
      for (int k = 0; k <= kDegree; ++k) coefficient_[k][piece] = float(polynomial[k]);
    }
  }

  HWY_INLINE FloatVector operator()(FloatVector a) const {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> whole;
    const auto slope = hn::Set(d, slope_), round = hn::Set(d, kRoundFloat);
    const auto position = from_zero ? hn::MulAdd(hn::MulAdd(a, slope, hn::Set(d, 1.0f)), a, round)
                                    : hn::Add(hn::MulAdd(hn::Mul(a, slope), a, hn::Set(d, shift_)), round);
    const auto piece = hn::BitCast(whole, position);  // lookups use only the low bits
    auto pick = [&](const float* table) HWY_ATTR {
#if HWY_TARGET <= HWY_AVX3
      return FloatVector{_mm512_permutex2var_ps(_mm512_load_ps(table), piece.raw, _mm512_load_ps(table + 16))};
#else
      return FloatVector{_mm256_permutevar8x32_ps(_mm256_load_ps(table), piece.raw)};
#endif
    };
    const auto t = hn::Sub(a, pick(centre_));
    auto y = pick(coefficient_[kDegree]);
    for (int k = kDegree - 1; k >= 0; --k) y = hn::MulAdd(y, t, pick(coefficient_[k]));
    return y;
  }

 private:
  HWY_ALIGN float centre_[kPieces];
  HWY_ALIGN float coefficient_[kDegree + 1][kPieces];
  float slope_, shift_;
};

// From 0 to kEnd: one table, or two, the second of which is used only when needed.
class Piecewise {
 public:
#if HWY_TARGET <= HWY_AVX3
  static constexpr double kEnd = 8;
  explicit Piecewise(double (*fn)(double)) : near_(fn, 0, kEnd) {}
  HWY_INLINE FloatVector operator()(FloatVector a) const { return near_(a); }
#else
  static constexpr double kMiddle = 3.75, kEnd = 5.75;
  explicit Piecewise(double (*fn)(double)) : near_(fn, 0, kMiddle), far_(fn, kMiddle, kEnd) {}
  HWY_INLINE FloatVector operator()(FloatVector a) const {
    const FloatTag d;
    const auto y = near_(a);
    const auto is_far = hn::Ge(a, hn::Set(d, float(kMiddle)));
    return HWY_LIKELY(hn::AllFalse(d, is_far)) ? y : hn::IfThenElse(is_far, far_values(a), y);
  }
#endif

 private:
  Pieces<true> near_;
#if HWY_TARGET > HWY_AVX3
  HWY_NOINLINE FloatVector far_values(FloatVector a) const { return far_(a); }  // rare: kept off the fast path
  Pieces<false> far_;
#endif
};
#else
#define PYBURN_PIECEWISE 0
#endif

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
