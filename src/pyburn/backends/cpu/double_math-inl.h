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
#include <cmath>

#include "pyburn/backends/cpu/kernel_table.h"

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
  for (; i + lanes <= n; i += lanes) hn::StoreU(of_double_vector<Fn>(hn::LoadU(d, x + i)), d, y + i);
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

template <class Fn>
void of_doubles(KernelTable& kernels, const char* op) {
  kernels.add_tile(op, DType::float64, {double_tile<Fn>});
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
