// Functions of vectors of doubles, by Highway's polynomials: within 4 ulp for usual arguments, in libm's hands for the others. Compiled
// for each instruction set: include after foreach_target.h.
#if defined(PYBURN_DOUBLE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DOUBLE_MATH_INL_H
#undef PYBURN_DOUBLE_MATH_INL_H
#else
#define PYBURN_DOUBLE_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "pyburn/backends/cpu/kernel_table.h"
#include "pyburn/backends/cpu/math/scalar-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DoubleTag = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<DoubleTag>;

HWY_INLINE auto is_between(DoubleVector x, double low, double high) {
  const DoubleTag d;
  return hn::And(hn::Ge(x, hn::Set(d, low)), hn::Le(x, hn::Set(d, high)));
}
inline constexpr double kSmallestDouble = 2.2250738585072014e-308, kLargestDouble = 1.7976931348623157e308;

// Fn has usual(x), a mask; vector(x), for these; and libm(x), of one double.
template <class Fn>
HWY_INLINE DoubleVector of_double_vector(DoubleVector x) {
  const DoubleTag d;
  const auto y = Fn::vector(x);
  if (HWY_LIKELY(hn::AllTrue(d, Fn::usual(x)))) return y;
  HWY_ALIGN double given[HWY_LANES(double)], made[HWY_LANES(double)];
  hn::Store(x, d, given);
  hn::Store(y, d, made);
  for (size_t i = 0; i < HWY_LANES(double); ++i)
    if (!Fn::is_usual(given[i])) made[i] = Fn::libm(given[i]);
  return hn::Load(d, made);
}
template <class Fn>
void double_tile(const void*, const void* const* in, void* out, int64_t n) {
  const DoubleTag d;
  constexpr int64_t lanes = HWY_LANES(double);
  const double* x = static_cast<const double*>(in[0]);
  double* y = static_cast<double*>(out);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {  // two at a time hide each other's latency
    const auto a = of_double_vector<Fn>(hn::LoadU(d, x + i)), b = of_double_vector<Fn>(hn::LoadU(d, x + i + lanes));
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
  }
  if (i + lanes <= n) {
    hn::StoreU(of_double_vector<Fn>(hn::LoadU(d, x + i)), d, y + i);
    i += lanes;
  }
  if (i == n) return;
  HWY_ALIGN double last[lanes] = {};
  std::copy_n(x + i, n - i, last);
  hn::Store(of_double_vector<Fn>(hn::Load(d, last)), d, last);
  std::copy_n(last, n - i, y + i);
}

// A function that is usual in [low, high]: its name here, as Highway calls it, and as libm does. An odd one keeps the sign of 0.
#define PYBURN_DOUBLE_FUNCTION(name, vector_name, libm_name, low, high, odd)          \
  struct name {                                                                       \
    static HWY_INLINE auto usual(DoubleVector x) { return is_between(x, low, high); } \
    static bool is_usual(double x) { return x >= (low) && x <= (high); }              \
    static HWY_INLINE DoubleVector vector(DoubleVector x) {                           \
      const DoubleTag d;                                                              \
      const auto y = hn::vector_name(d, x);                                           \
      return odd ? hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y) : y;                  \
    }                                                                                 \
    static double libm(double x) { return std::libm_name(x); }                        \
  };
PYBURN_DOUBLE_FUNCTION(ExpOfDoubles, Exp, exp, -700, 700, false)
PYBURN_DOUBLE_FUNCTION(LogOfDoubles, Log, log, kSmallestDouble, kLargestDouble, false)
PYBURN_DOUBLE_FUNCTION(Log1pOfDoubles, Log1p, log1p, 0, 1e300, true)
PYBURN_DOUBLE_FUNCTION(SinOfDoubles, Sin, sin, -39000, 39000, true)
PYBURN_DOUBLE_FUNCTION(CosOfDoubles, Cos, cos, -39000, 39000, false)
PYBURN_DOUBLE_FUNCTION(AsinOfDoubles, Asin, asin, -1, 1, true)
PYBURN_DOUBLE_FUNCTION(AcosOfDoubles, Acos, acos, -1, 1, false)
PYBURN_DOUBLE_FUNCTION(AtanOfDoubles, Atan, atan, -kLargestDouble, kLargestDouble, true)
PYBURN_DOUBLE_FUNCTION(SinhOfDoubles, Sinh, sinh, -700, 700, true)
PYBURN_DOUBLE_FUNCTION(TanhOfDoubles, Tanh, tanh, -kLargestDouble, kLargestDouble, true)
#undef PYBURN_DOUBLE_FUNCTION

// 2^n * exp(r log(2)): powers of two are exact.
struct Exp2OfDoubles {
  static HWY_INLINE auto usual(DoubleVector x) { return is_between(x, -1000, 1000); }
  static bool is_usual(double x) { return x >= -1000 && x <= 1000; }
  static HWY_INLINE DoubleVector vector(DoubleVector x) {
    const DoubleTag d;
    const hn::RebindToSigned<DoubleTag> whole;
    const auto turns = hn::Add(x, hn::Set(d, kRoundDouble)), n = hn::Sub(turns, hn::Set(d, kRoundDouble));
    const auto y = hn::Exp(d, hn::Mul(hn::Sub(x, n), hn::Set(d, std::numbers::ln2)));
    return hn::BitCast(d, hn::Add(hn::BitCast(whole, y), hn::ShiftLeft<52>(hn::BitCast(whole, turns))));
  }
  static double libm(double x) { return std::exp2(x); }
};
// n + log2(m) with m between sqrt(1/2) and sqrt(2): likewise.
struct Log2OfDoubles {
  static HWY_INLINE auto usual(DoubleVector x) { return is_between(x, kSmallestDouble, kLargestDouble); }
  static bool is_usual(double x) { return x >= kSmallestDouble && x <= kLargestDouble; }
  static HWY_INLINE DoubleVector vector(DoubleVector x) {
    const DoubleTag d;
    const hn::RebindToUnsigned<DoubleTag> whole;
    constexpr double shift = 4503599627370496.0;  // 2^52: an integer in its low bits becomes a double
    const uint64_t one = std::bit_cast<uint64_t>(1.0), least = std::bit_cast<uint64_t>(std::numbers::sqrt2 / 2);
    const auto bits = hn::BitCast(whole, x), biased = hn::ShiftRight<52>(hn::Add(bits, hn::Set(whole, one - least)));
    const auto n = hn::Sub(hn::BitCast(d, hn::Or(biased, hn::Set(whole, std::bit_cast<uint64_t>(shift)))), hn::Set(d, shift + 1023));
    const auto m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(hn::Sub(biased, hn::Set(whole, uint64_t(1023))))));
    return hn::MulAdd(hn::Log(d, m), hn::Set(d, std::numbers::log2e), n);
  }
  static double libm(double x) { return std::log2(x); }
};
// 1 / (1 + exp(-x)).
struct SigmoidOfDoubles {
  static HWY_INLINE auto usual(DoubleVector x) { return is_between(x, -700, 700); }
  static bool is_usual(double x) { return x >= -700 && x <= 700; }
  static HWY_INLINE DoubleVector vector(DoubleVector x) {
    const DoubleTag d;
    const auto one = hn::Set(d, 1.0);
    return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
  }
  static double libm(double x) { return 1 / (1 + std::exp(-x)); }
};

template <class Fn>
void of_doubles(KernelTable& kernels, const char* op) {
  kernels.add_tile(op, DType::float64, {double_tile<Fn>});
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
