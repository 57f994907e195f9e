// Elementwise functions of one tensor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/unary.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/math-inl.h"

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

void add_unary(KernelTable& k) {
  unary(k, "neg", Floats(), [](auto x) HWY_ATTR { return -x; });
  unary(k, "neg", Integers(), []<class T>(T x) HWY_ATTR { return T(Unsigned<T>(0) - Unsigned<T>(x)); });
  unary(k, "abs", Floats(), []<class T>(T x) HWY_ATTR { return x < T(0) ? -x : x == T(0) ? T(0) : x; });
  unary(k, "abs", Integers(), []<class T>(T x) HWY_ATTR { return x < T(0) ? T(Unsigned<T>(0) - Unsigned<T>(x)) : x; });
  unary(k, "exp", Floats(), [](auto x) HWY_ATTR { return exp_of(x); });
  unary(k, "log", Floats(), [](auto x) HWY_ATTR { return log_of(x); });
  unary(k, "sqrt", Floats(), [](auto x) HWY_ATTR { return std::sqrt(x); });
  unary(k, "rsqrt", Floats(), []<class T>(T x) HWY_ATTR { return T(1) / std::sqrt(x); });
  angle(
      k, "sin", [](float x) HWY_ATTR { return sin_of(x); }, [](auto x) HWY_ATTR { return std::sin(x); });
  angle(
      k, "cos", [](float x) HWY_ATTR { return cos_of(x); }, [](auto x) HWY_ATTR { return std::cos(x); });
  unary(k, "tanh", Floats(), [](auto x) HWY_ATTR { return tanh_of(x); });
  unary(k, "sigmoid", Floats(), [](auto x) HWY_ATTR { return sigmoid_of(x); });
  unary(k, "relu", AllTypes(), []<class T>(T x) HWY_ATTR { return x < T(0) ? T(0) : x; });  // NaN stays NaN
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_unary);
void register_unary(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_unary)(kernels); }

}  // namespace pyburn::cpu
#endif
