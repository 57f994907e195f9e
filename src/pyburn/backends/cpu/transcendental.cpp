// Exponentials, logarithms, angles, and the functions of statistics.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/transcendental.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/angle-inl.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/gamma.h"
#include "pyburn/backends/cpu/wide_math-inl.h"
#include "pyburn/ops/transcendental.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Fast where all angles are moderate, else by libm.
template <class Fast, class Libm>
void angle_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in[0]);
  int32_t large = 0;
  for (int64_t i = 0; i < n; ++i) large |= x[i] > kLargestAngle || x[i] < -kLargestAngle;
  large ? unary_tile<float, Libm>(attrs, in, out, n) : unary_tile<float, Fast>(attrs, in, out, n);
}
template <class Fast, class Libm>
void angle(KernelTable& kernels, const char* op, Fast, Libm) {
  kernels.add_tile(op, DType::float32, {angle_tile<Fast, Libm>});
  kernels.add_tile(op, DType::float64, {unary_tile<double, Libm>});
}

void add_transcendental(KernelTable& k) {
  by_vectors(k, "exp", [](auto x) HWY_ATTR { return exp_of(x); });
  unary(k, "exp2", Floats(), [](auto x) HWY_ATTR { return exp2_of(x); });
  unary(k, "expm1", Floats(), [](auto x) HWY_ATTR { return expm1_of(x); });
  by_vectors(k, "log", [](auto x) HWY_ATTR { return log_of(x); });
  unary(k, "log2", Floats(), [](auto x) HWY_ATTR { return log2_of(x); });
  unary(k, "log10", Floats(), [](auto x) HWY_ATTR { return log10_of(x); });
  unary(k, "log1p", Floats(), [](auto x) HWY_ATTR { return log1p_of(x); });
  unary(k, "special_entr", Floats(), []<class T>(T x) HWY_ATTR { return x == T(0) ? T(0) : x < T(0) ? -T(INFINITY) : -x * log_of(x); });
  by_vectors(k, "sin", [](auto x) HWY_ATTR { return sin_of(x); });
  by_vectors(k, "cos", [](auto x) HWY_ATTR { return cos_of(x); });
  angle(
      k, "tan", [](float x) HWY_ATTR { return tan_of(x); }, [](auto x) HWY_ATTR { return std::tan(x); });
  unary(k, "asin", Floats(), [](auto x) HWY_ATTR { return asin_of(x); });
  unary(k, "acos", Floats(), [](auto x) HWY_ATTR { return acos_of(x); });
  unary(k, "atan", Floats(), [](auto x) HWY_ATTR { return atan_of(x); });
  unary(k, "sinh", Floats(), [](auto x) HWY_ATTR { return sinh_of(x); });
  unary(k, "cosh", Floats(), [](auto x) HWY_ATTR { return cosh_of(x); });
  by_vectors(k, "tanh", [](auto x) HWY_ATTR { return tanh_of(x); });
  unary(k, "asinh", Floats(), [](auto x) HWY_ATTR { return asinh_of(x); });
  unary(k, "acosh", Floats(), [](auto x) HWY_ATTR { return acosh_of(x); });
  unary(k, "atanh", Floats(), [](auto x) HWY_ATTR { return atanh_of(x); });
  by_vectors(k, "erf", [](auto x) HWY_ATTR { return erf_of(x); });
  unary(k, "erfc", Floats(), [](auto x) HWY_ATTR { return erfc_of(x); });
  unary(k, "erfinv", Floats(), []<class T>(T x) HWY_ATTR { return T(inverse_erf(x)); });
  unary(k, "lgamma", Floats(), []<class T>(T x) HWY_ATTR { return T(log_gamma(x)); });
  unary(k, "digamma", Floats(), []<class T>(T x) HWY_ATTR { return T(digamma(x)); });
  unary_with<Polygamma>(
      k, "polygamma", Floats(), []<class T>(const Polygamma& a, T) { return [n = a.n](T x) HWY_ATTR { return T(polygamma(n, x)); }; });
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_transcendental);
void register_transcendental(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_transcendental)(kernels); }

}  // namespace pyburn::cpu
#endif
