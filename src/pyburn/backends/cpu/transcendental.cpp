// Exponentials, logarithms, angles, and the functions of statistics.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/transcendental.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/math/angle-inl.h"
#include "pyburn/backends/cpu/math/double-inl.h"
#include "pyburn/backends/cpu/math/exponential-inl.h"
#include "pyburn/backends/cpu/math/gamma.h"
#include "pyburn/backends/cpu/math/wide-inl.h"
#include "pyburn/ops/transcendental.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Vectors of floats where products go into sums without rounding; elsewhere one by one, in double precision.
template <class Fn>
void by_fused_vectors(KernelTable& kernels, const char* op, Fn fn) {
#if HWY_NATIVE_FMA
  by_vectors(kernels, op, fn);
#else
  unary(kernels, op, Floats(), fn);
#endif
}

void add_transcendental(KernelTable& k) {
  by_vectors(k, "exp", [](auto x) HWY_ATTR { return exp_of(x); });
  by_fused_vectors(k, "exp2", [](auto x) HWY_ATTR { return exp2_of(x); });
  by_fused_vectors(k, "expm1", [](auto x) HWY_ATTR { return expm1_of(x); });
  by_vectors(k, "log", [](auto x) HWY_ATTR { return quick_log_of(x); });
  by_fused_vectors(k, "log2", [](auto x) HWY_ATTR { return log2_of(x); });
  by_fused_vectors(k, "log10", [](auto x) HWY_ATTR { return log10_of(x); });
  by_fused_vectors(k, "log1p", [](auto x) HWY_ATTR { return log1p_of(x); });
  unary(k, "special_entr", Floats(), []<class T>(T x) HWY_ATTR { return x == T(0) ? T(0) : x < T(0) ? -T(INFINITY) : -x * log_of(x); });
  by_vectors(k, "sin", [](auto x) HWY_ATTR { return sin_of(x); });
  by_vectors(k, "cos", [](auto x) HWY_ATTR { return cos_of(x); });
  by_vectors(k, "tan", [](auto x) HWY_ATTR { return tan_of(x); });
  by_fused_vectors(k, "asin", [](auto x) HWY_ATTR { return asin_of(x); });
  by_fused_vectors(k, "acos", [](auto x) HWY_ATTR { return acos_of(x); });
  by_fused_vectors(k, "atan", [](auto x) HWY_ATTR { return atan_of(x); });
  by_fused_vectors(k, "sinh", [](auto x) HWY_ATTR { return sinh_of(x); });
  by_fused_vectors(k, "cosh", [](auto x) HWY_ATTR { return cosh_of(x); });
  by_vectors(k, "tanh", [](auto x) HWY_ATTR { return tanh_of(x); });
  by_fused_vectors(k, "asinh", [](auto x) HWY_ATTR { return asinh_of(x); });
  by_fused_vectors(k, "acosh", [](auto x) HWY_ATTR { return acosh_of(x); });
  by_fused_vectors(k, "atanh", [](auto x) HWY_ATTR { return atanh_of(x); });
  by_vectors(k, "erf", [](auto x) HWY_ATTR { return erf_of(x); });
  by_fused_vectors(k, "erfc", [](auto x) HWY_ATTR { return erfc_of(x); });
  unary(k, "erfinv", Floats(), []<class T>(T x) HWY_ATTR { return T(inverse_erf(x)); });
  unary(k, "lgamma", Floats(), []<class T>(T x) HWY_ATTR { return T(log_gamma(x)); });
  unary(k, "digamma", Floats(), []<class T>(T x) HWY_ATTR { return T(digamma(x)); });
  unary_with<Polygamma>(
      k, "polygamma", Floats(), []<class T>(const Polygamma& a, T) { return [n = a.n](T x) HWY_ATTR { return T(polygamma(n, x)); }; });
#if HWY_NATIVE_FMA
  of_doubles<ExpOfDoubles>(k, "exp");
  of_doubles<Exp2OfDoubles>(k, "exp2");
  of_doubles<Expm1OfDoubles>(k, "expm1");
  of_doubles<Log2OfDoubles>(k, "log2");
  of_doubles<Log10OfDoubles>(k, "log10");
  of_doubles<LogOfDoubles>(k, "log");
  of_doubles<Log1pOfDoubles>(k, "log1p");
  of_doubles<SinOfDoubles>(k, "sin");
  of_doubles<CosOfDoubles>(k, "cos");
  of_doubles<TanOfDoubles>(k, "tan");
  of_doubles<AsinOfDoubles>(k, "asin");
  of_doubles<AcosOfDoubles>(k, "acos");
  of_doubles<AtanOfDoubles>(k, "atan");
  of_doubles<SinhOfDoubles>(k, "sinh");
  of_doubles<TanhOfDoubles>(k, "tanh");
  of_doubles<ErfOfDoubles>(k, "erf");
  of_doubles<ErfcOfDoubles>(k, "erfc");
#endif
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
