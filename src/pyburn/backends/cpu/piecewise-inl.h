// A smooth function of floats from 0 on as polynomials of degree 6, one per interval, whose coefficients lie in registers: a lane picks
// those of its interval with one instruction each. Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_PIECEWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_PIECEWISE_INL_H
#undef PYBURN_PIECEWISE_INL_H
#else
#define PYBURN_PIECEWISE_INL_H
#endif

#include <cmath>
#include <numbers>

#include "pyburn/backends/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// Where a register has lanes enough to be a table, and products go into sums without rounding.
#undef PYBURN_PIECEWISE
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define PYBURN_PIECEWISE 1

class Piecewise {
 public:
  static constexpr int kTables = HWY_TARGET <= HWY_AVX3 ? 2 : 1;  // registers that one instruction can look into
  static constexpr int kPieces = kTables * HWY_LANES(float), kDegree = 6;
  static constexpr double kEnd = kPieces == 32 ? 8 : 3.75;  // the function is known from 0 to here
  static constexpr double kSlope = (kPieces - 0.6 - kEnd) / (kEnd * kEnd);

  // Intervals shrink like 1 / a, as suits what falls like exp(-a^2 / 2): a (slope a + 1), rounded, is the number of the interval.
  // Each polynomial meets the function in the nodes of Chebyshev.
  explicit Piecewise(double (*fn)(double)) {
    auto place = [](double p) { return (std::sqrt(1 + 4 * kSlope * p) - 1) / (2 * kSlope); };
    for (int piece = 0; piece < kPieces; ++piece) {
      const double low = piece ? place(piece - 0.5) : 0, high = place(piece + 0.5);
      centre_[piece] = float((low + high) / 2);
      double node[kDegree + 1], difference[kDegree + 1], polynomial[kDegree + 1] = {};
      for (int i = 0; i <= kDegree; ++i) {
        node[i] = (high - low) / 2 * std::cos((i + 0.5) * std::numbers::pi / (kDegree + 1));
        difference[i] = fn(double(centre_[piece]) + node[i]);
      }
      for (int order = 1; order <= kDegree; ++order)
        for (int i = kDegree; i >= order; --i) difference[i] = (difference[i] - difference[i - 1]) / (node[i] - node[i - order]);
      for (int i = kDegree; i >= 0; --i) {  // Newton's form, multiplied out
        for (int k = kDegree; k > 0; --k) polynomial[k] = polynomial[k - 1] - node[i] * polynomial[k];
        polynomial[0] = difference[i] - node[i] * polynomial[0];
      }
      for (int k = 0; k <= kDegree; ++k) coefficient_[k][piece] = float(polynomial[k]);
    }
  }

  HWY_INLINE FloatVector operator()(FloatVector a) const {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> whole;
    const auto position = hn::MulAdd(hn::MulAdd(a, hn::Set(d, float(kSlope)), hn::Set(d, 1.0f)), a, hn::Set(d, kRoundFloat));
    const auto piece = hn::BitCast(whole, position);  // lookups see its low bits only
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
};
#else
#define PYBURN_PIECEWISE 0
#endif

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
