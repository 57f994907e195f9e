// Divisions with a remainder, angles and lengths, logarithms of sums.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/binary_math.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/wide_math-inl.h"
#include "pyburn/ops/binary.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Integers: rounded down, and what is left. The smallest number over -1 wraps around.
template <class T>
T checked(T divisor) {
  if (divisor == T(0)) fail<ValueError>("integer division by zero: got a divisor of 0");
  return divisor;
}
template <class T>
T truncated_rest(T x, T y) {
  return checked(y) == T(-1) ? T(0) : T(x % y);
}
template <class T>
T floored_rest(T x, T y) {
  const T rest = truncated_rest(x, y);
  return rest != T(0) && (rest < T(0)) != (y < T(0)) ? T(rest + y) : rest;
}
template <class T>
T floored_quotient(T x, T y) {
  if (std::is_signed_v<T> && y == T(-1)) return T(Unsigned<T>(0) - Unsigned<T>(x));
  return T((x - floored_rest(x, y)) / y);
}
template <std::floating_point T>
T floored_rest(T x, T y) {
  const T rest = std::fmod(x, y);
  return rest != T(0) && (rest < T(0)) != (y < T(0)) ? rest + y : rest;
}
template <std::floating_point T>
T floored_quotient(T x, T y) {
  if (y == T(0)) return x / y;
  const T rest = std::fmod(x, y), quotient = (x - rest) / y;
  const T exact = rest != T(0) && (rest < T(0)) != (y < T(0)) ? quotient - T(1) : quotient;
  return exact == T(0) ? std::copysign(T(0), x / y) : std::nearbyint(exact);
}

void add_binary_math(KernelTable& k) {
  binary(k, "floor_divide", AllTypes(), []<class T>(T x, T y) HWY_ATTR { return floored_quotient(x, y); });
  binary(k, "remainder", AllTypes(), []<class T>(T x, T y) HWY_ATTR { return floored_rest(x, y); });
  binary(k, "fmod", Floats(), [](auto x, auto y) HWY_ATTR { return std::fmod(x, y); });
  binary(k, "fmod", Integers(), []<class T>(T x, T y) HWY_ATTR { return truncated_rest(x, y); });
  binary(k, "atan2", Floats(), [](auto y, auto x) HWY_ATTR { return atan2_of(y, x); });
  binary(k, "hypot", Types<float>(), [](float x, float y) HWY_ATTR {
    const double length = std::sqrt(double(x) * x + double(y) * y);
    const bool far = std::abs(x) == float(kInfinity) || std::abs(y) == float(kInfinity);  // even beside NaN
    return far ? float(kInfinity) : float(length);
  });
  binary(k, "hypot", Types<double>(), [](double x, double y) HWY_ATTR { return std::hypot(x, y); });
  binary(k, "xlogy", Floats(), []<class T>(T x, T y) HWY_ATTR { return y != y ? y : x == T(0) ? T(0) : x * log_of(y); });
  binary(k, "logaddexp", Floats(), []<class T>(T x, T y) HWY_ATTR {
    const T large = x < y ? y : x, apart = x < y ? x - y : y - x;
    const bool equal_infinities = x == y && std::abs(x) == T(kInfinity);
    return equal_infinities ? x : large + log1p_of(exp_of(apart));
  });
  binary(k, "logaddexp2", Floats(), []<class T>(T x, T y) HWY_ATTR {
    const T large = x < y ? y : x, apart = x < y ? x - y : y - x;
    const bool equal_infinities = x == y && std::abs(x) == T(kInfinity);
    return equal_infinities ? x : large + log1p_of(exp2_of(apart)) * T(std::numbers::log2e);
  });
  binary(k, "copysign", Floats(), [](auto x, auto y) HWY_ATTR { return std::copysign(x, y); });
  binary(k, "fmax", AllTypes(), [](auto x, auto y) HWY_ATTR { return x >= y || y != y ? x : y; });
  binary(k, "fmin", AllTypes(), [](auto x, auto y) HWY_ATTR { return x <= y || y != y ? x : y; });
  binary(k, "nextafter", Floats(), [](auto x, auto y) HWY_ATTR { return std::nextafter(x, y); });
  binary(k, "heaviside", AllTypes(), []<class T>(T x, T v) HWY_ATTR { return x == T(0) ? v : x > T(0) ? T(1) : T(0); });
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_binary_math);
void register_binary_math(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_binary_math)(kernels); }

}  // namespace pyburn::cpu
#endif
