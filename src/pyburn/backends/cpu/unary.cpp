// Arithmetic and rounding.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/unary.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/ops/unary.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

void add_unary(KernelTable& k) {
  unary(k, "neg", Floats(), [](auto x) HWY_ATTR { return -x; });
  unary(k, "neg", Integers(), []<class T>(T x) HWY_ATTR { return T(Unsigned<T>(0) - Unsigned<T>(x)); });
  unary(k, "abs", Floats(), []<class T>(T x) HWY_ATTR { return x < T(0) ? -x : x == T(0) ? T(0) : x; });
  unary(k, "abs", Integers(), []<class T>(T x) HWY_ATTR { return x < T(0) ? T(Unsigned<T>(0) - Unsigned<T>(x)) : x; });
  unary(k, "sign", AllTypes(), []<class T>(T x) HWY_ATTR { return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0); });
  unary(k, "floor", Floats(), [](auto x) HWY_ATTR { return std::floor(x); });
  unary(k, "ceil", Floats(), [](auto x) HWY_ATTR { return std::ceil(x); });
  unary(k, "trunc", Floats(), [](auto x) HWY_ATTR { return std::trunc(x); });
  for (const char* op : {"floor", "ceil", "trunc", "round"}) unary(k, op, Integers(), [](auto x) HWY_ATTR { return x; });
  unary_with<Round>(k, "round", Floats(), []<class T>(const Round& a, T) {
    const T scale = T(std::pow(10.0, std::abs(double(a.decimals))));
    const T up = a.decimals < 0 ? T(1) : scale, down = a.decimals < 0 ? scale : T(1);
    return [up, down](T x) HWY_ATTR { return std::nearbyint(x * up / down) / up * down; };
  });
  by_vectors(k, "sqrt", [](auto x) HWY_ATTR { return sqrt_of(x); });
  unary(k, "rsqrt", Floats(), []<class T>(T x) HWY_ATTR { return T(1) / std::sqrt(x); });
  unary(k, "nan_to_num", Integers(), [](auto x) HWY_ATTR { return x; });
  unary_with<NanToNum>(k, "nan_to_num", Floats(), []<class T>(const NanToNum& a, T) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return [nan = T(a.nan), high = T(a.posinf), low = T(a.neginf)](T x) HWY_ATTR {
      return x != x ? nan : x == infinity ? high : x == -infinity ? low : x;
    };
  });
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
