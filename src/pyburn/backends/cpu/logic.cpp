// Questions about elements, and operations on truth values and bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/logic.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class T>
T shifted_up(T x, T places) {
  return places < T(0) || places >= T(sizeof(T) * 8) ? T(0) : T(Unsigned<T>(x) << places);
}
template <class T>
T shifted_down(T x, T places) {
  const bool all = places < T(0) || places >= T(sizeof(T) * 8);
  return all ? (x < T(0) ? T(-1) : T(0)) : T(x >> places);
}

void add_logic(KernelTable& k) {
  unary(k, "isinf", Floats(), []<class T>(T x) HWY_ATTR { return std::abs(x) == std::numeric_limits<T>::infinity(); });
  unary(k, "isinf", Integers(), [](auto) HWY_ATTR { return false; });
  unary(k, "isfinite", Floats(), []<class T>(T x) HWY_ATTR { return std::abs(x) < std::numeric_limits<T>::infinity(); });
  unary(k, "isfinite", Integers(), [](auto) HWY_ATTR { return true; });
  unary(k, "signbit", Floats(), [](auto x) HWY_ATTR { return std::signbit(x); });
  unary(k, "signbit", Integers(), []<class T>(T x) HWY_ATTR { return x < T(0); });
  unary(k, "logical_not", AllTypes(), []<class T>(T x) HWY_ATTR { return x == T(0); });
  binary(k, "logical_and", AllTypes(), []<class T>(T x, T y) HWY_ATTR { return bool((x != T(0)) & (y != T(0))); });
  binary(k, "logical_or", AllTypes(), []<class T>(T x, T y) HWY_ATTR { return bool((x != T(0)) | (y != T(0))); });
  binary(k, "logical_xor", AllTypes(), []<class T>(T x, T y) HWY_ATTR { return (x != T(0)) != (y != T(0)); });
  binary(k, "bitwise_and", Integers(), []<class T>(T x, T y) HWY_ATTR { return T(x & y); });
  binary(k, "bitwise_or", Integers(), []<class T>(T x, T y) HWY_ATTR { return T(x | y); });
  binary(k, "bitwise_xor", Integers(), []<class T>(T x, T y) HWY_ATTR { return T(x ^ y); });
  binary(k, "bitwise_left_shift", Integers(), []<class T>(T x, T y) HWY_ATTR { return shifted_up(x, y); });
  binary(k, "bitwise_right_shift", Integers(), []<class T>(T x, T y) HWY_ATTR { return shifted_down(x, y); });
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_logic);
void register_logic(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_logic)(kernels); }

}  // namespace pyburn::cpu
#endif
