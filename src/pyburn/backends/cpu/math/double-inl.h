// Vectorised functions of arrays of doubles: within 4 ulp for common arguments; others are passed to libm. Requires fused multiply-add
// (HWY_NATIVE_FMA). Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_DOUBLE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DOUBLE_MATH_INL_H
#undef PYBURN_DOUBLE_MATH_INL_H
#else
#define PYBURN_DOUBLE_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/backends/cpu/kernel_table.h"
#include "pyburn/backends/cpu/math/double_normal-inl.h"
#include "pyburn/backends/cpu/math/double_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

HWY_INLINE auto is_between(DoubleVector x, double low, double high) { return hn::And(hn::Ge(x, all_of(low)), hn::Le(x, all_of(high))); }
inline constexpr double kSmallestDouble = std::numeric_limits<double>::min(), kLargestDouble = std::numeric_limits<double>::max();
inline constexpr double kInfiniteDouble = std::numeric_limits<double>::infinity();

// y for common arguments, and libm's result for the others.
template <class Fn, class... V>
HWY_NOINLINE DoubleVector by_libm(DoubleVector y, hn::Mask<DoubleTag> usual, V... x) {
  const DoubleTag d;
  constexpr size_t lanes = HWY_LANES(double);
  HWY_ALIGN double made[lanes], is_usual[lanes];
  HWY_ALIGN double given[sizeof...(V)][lanes];
  hn::Store(y, d, made);
  hn::Store(hn::IfThenElseZero(usual, all_of(1.0)), d, is_usual);
  size_t k = 0;
  (hn::Store(x, d, given[k++]), ...);
  for (size_t i = 0; i < lanes; ++i) {
    if (is_usual[i] != 0) continue;
    if constexpr (sizeof...(V) == 1) made[i] = Fn::libm(given[0][i]);
    else made[i] = Fn::libm(given[0][i], given[1][i]);
  }
  return hn::Load(d, made);
}
// Fn has usual(x...), a mask of common arguments; vector(x...) for these; and libm(x...) for one double each.
template <class Fn, class... V>
HWY_INLINE DoubleVector of_double_vector(V... x) {
  const auto y = Fn::vector(x...);
  const auto usual = Fn::usual(x...);
  return HWY_LIKELY(hn::AllTrue(DoubleTag(), usual)) ? y : by_libm<Fn>(y, usual, x...);
}
// y[i] = fn(x[i]...) for n doubles; operands(i) loads a vector of each operand, or the first of them.
template <class Fn, class... Load>
HWY_INLINE void map_double_vectors(double* y, int64_t n, Load... load) {
  const DoubleTag d;
  constexpr int64_t lanes = HWY_LANES(double);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(of_double_vector<Fn>(load(i, lanes)...), d, y + i);
  if (i == n) return;
  HWY_ALIGN double last[lanes];
  hn::Store(of_double_vector<Fn>(load(i, n - i)...), d, last);
  std::copy_n(last, n - i, y + i);
}
// Operands of map_double_vectors: an array, or a number. Lanes behind the end of an array are set to `filler`.
HWY_INLINE auto operand(const double* x, double filler = 1) {
  return [x, filler](int64_t i, int64_t count) HWY_ATTR {
    const DoubleTag d;
    if (HWY_LIKELY(count == HWY_LANES(double))) return hn::LoadU(d, x + i);
    HWY_ALIGN double last[HWY_LANES(double)];
    std::fill_n(last, HWY_LANES(double), filler);
    std::copy_n(x + i, count, last);
    return hn::Load(d, last);
  };
}
HWY_INLINE auto operand(double number) {
  return [number](int64_t, int64_t) HWY_ATTR { return all_of(number); };
}
template <class Fn>
void double_tile(const void*, const void* const* in, void* out, int64_t n) {
  map_double_vectors<Fn>(static_cast<double*>(out), n, operand(static_cast<const double*>(in[0]), 0.5));
}
template <class Fn>
void of_doubles(KernelTable& kernels, const char* op) {
  kernels.add_tile(op, DType::float64, {double_tile<Fn>});
}

// A function with the common range [low, high]: its name here, its vector expression in x, and its name in libm. Odd functions keep the
// sign of 0.
#define PYBURN_DOUBLE_FUNCTION(name, expression, libm_name, low, high, odd)           \
  struct name {                                                                       \
    static HWY_INLINE auto usual(DoubleVector x) { return is_between(x, low, high); } \
    static HWY_INLINE DoubleVector vector(DoubleVector x) {                           \
      const DoubleTag d;                                                              \
      const auto y = expression;                                                      \
      return odd ? hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y) : y;                  \
    }                                                                                 \
    static double libm(double x) { return libm_name(x); }                             \
  };
inline double sigmoid_by_libm(double x) { return 1 / (1 + std::exp(-x)); }
inline double gelu_by_libm(double x) {  // in extended precision: erfc amplifies the rounding error of its argument
  const long double wide = x;
  return double(wide * 0.5L * std::erfc(wide * (-std::numbers::sqrt2_v<long double> / 2)));
}
PYBURN_DOUBLE_FUNCTION(ExpOfDoubles, exp_of_usual(x), std::exp, -708, 709, false)
PYBURN_DOUBLE_FUNCTION(Exp2OfDoubles, exp2_of_usual(x), std::exp2, -1021, 1023, false)
PYBURN_DOUBLE_FUNCTION(Expm1OfDoubles, expm1_of_usual(x), std::expm1, -40, 709, true)
PYBURN_DOUBLE_FUNCTION(LogOfDoubles, hn::Log(d, x), std::log, kSmallestDouble, kLargestDouble, false)
PYBURN_DOUBLE_FUNCTION(Log10OfDoubles, log10_of_usual(x), std::log10, kSmallestDouble, kLargestDouble, false)
PYBURN_DOUBLE_FUNCTION(Log1pOfDoubles, hn::Log1p(d, x), std::log1p, 0, 1e300, true)
PYBURN_DOUBLE_FUNCTION(SinOfDoubles, hn::Sin(d, x), std::sin, -39000, 39000, true)
PYBURN_DOUBLE_FUNCTION(CosOfDoubles, hn::Cos(d, x), std::cos, -39000, 39000, false)
PYBURN_DOUBLE_FUNCTION(TanOfDoubles, tan_of_usual(x), std::tan, -39000, 39000, true)
PYBURN_DOUBLE_FUNCTION(AsinOfDoubles, hn::Asin(d, x), std::asin, -1, 1, true)
PYBURN_DOUBLE_FUNCTION(AcosOfDoubles, hn::Acos(d, x), std::acos, -1, 1, false)
PYBURN_DOUBLE_FUNCTION(AtanOfDoubles, hn::Atan(d, x), std::atan, -kLargestDouble, kLargestDouble, true)
PYBURN_DOUBLE_FUNCTION(SinhOfDoubles, hn::Sinh(d, x), std::sinh, -700, 700, true)
PYBURN_DOUBLE_FUNCTION(TanhOfDoubles, hn::Tanh(d, x), std::tanh, -kLargestDouble, kLargestDouble, true)
PYBURN_DOUBLE_FUNCTION(ErfOfDoubles, erf_of_number(x), std::erf, -kInfiniteDouble, kInfiniteDouble, false)
PYBURN_DOUBLE_FUNCTION(ErfcOfDoubles, erfc_of_usual(x), std::erfc, -26, 26, false)
PYBURN_DOUBLE_FUNCTION(GeluOfDoubles, gelu_of_usual(x), gelu_by_libm, -kFarthestGelu, kInfiniteDouble, false)
PYBURN_DOUBLE_FUNCTION(
    SigmoidOfDoubles, hn::Div(all_of(1.0), hn::Add(all_of(1.0), exp_of_usual(hn::Neg(x)))), sigmoid_by_libm, -708, 708, false)
#undef PYBURN_DOUBLE_FUNCTION

// n + log2(m) with m between sqrt(1/2) and sqrt(2): exact for powers of two.
struct Log2OfDoubles {
  static HWY_INLINE auto usual(DoubleVector x) { return is_between(x, kSmallestDouble, kLargestDouble); }
  static HWY_INLINE DoubleVector vector(DoubleVector x) {
    const DoubleLogParts parts = log_parts(x);
    return hn::MulAdd(hn::Log(DoubleTag(), hn::Add(parts.f, all_of(1.0))), all_of(std::numbers::log2e), parts.n);
  }
  static double libm(double x) { return std::log2(x); }
};

// x^y; negative x with integer y are common arguments, too.
struct PowOfDoubles {
  static HWY_INLINE auto is_whole(DoubleVector y) { return hn::Eq(hn::Floor(y), y); }
  static HWY_INLINE auto usual(DoubleVector x, DoubleVector y) {
    const auto size = hn::Abs(x);
    const auto base = hn::And(is_between(size, kSmallestDouble, kLargestDouble), hn::Or(hn::Gt(x, hn::Zero(DoubleTag())), is_whole(y)));
    DoubleVector low;
    return hn::And(base, hn::Le(hn::Abs(power_exponent(size, y, low)), all_of(1020.0)));
  }
  static HWY_INLINE DoubleVector vector(DoubleVector x, DoubleVector y) {
    DoubleVector low;
    const auto high = power_exponent(hn::Abs(x), y, low), half = hn::Mul(y, all_of(0.5));
    const auto power = power_of_exponent(high, low);
    return hn::IfThenElse(hn::AndNot(is_whole(half), is_whole(y)), hn::CopySign(power, x), power);
  }
  static double libm(double x, double y) { return std::pow(x, y); }
};

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
