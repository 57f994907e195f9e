// Divisions with a remainder, angles and lengths, logarithms of sums.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/binary_math.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/math/wide-inl.h"
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
  const T quotient = T(x / checked(y)), rest = T(x % y);
  return rest != T(0) && (rest < T(0)) != (y < T(0)) ? T(quotient - T(1)) : quotient;
}
template <class T>
T magnitude(T x) {
  return x < T(0) ? T(Unsigned<T>(0) - Unsigned<T>(x)) : x;
}
template <class T>
T divisor_of(T x, T y) {  // the smallest number has a magnitude only as an unsigned one
  return T(std::gcd(Unsigned<T>(magnitude(x)), Unsigned<T>(magnitude(y))));
}
// Floats: by libm, which is slow but holds everywhere.
template <std::floating_point T>
HWY_INLINE T with_sign_of(T rest, T divisor) {
  return rest != T(0) && (rest < T(0)) != (divisor < T(0)) ? rest + divisor : rest;
}
template <std::floating_point T>
T floored_rest(T x, T y) {
  return with_sign_of(std::fmod(x, y), y);
}
template <std::floating_point T>
T floored_quotient(T x, T y) {
  if (y == T(0)) return x / y;
  const T rest = std::fmod(x, y), quotient = (x - rest) / y;
  const T exact = with_sign_of(rest, y) != rest ? quotient - T(1) : quotient;
  return exact == T(0) ? std::copysign(T(0), x / y) : std::nearbyint(exact);
}

// The same without branches, exact in double precision; NaN where the quotient has too many digits for that, or a number is special.
constexpr double kLargestQuotient = 268435456;  // 2^28
HWY_INLINE float fast_rest(float x, float y) {
  const double quotient = std::trunc(double(x) / y), rest = x - quotient * y;
  return float(std::abs(quotient) < kLargestQuotient ? std::copysign(rest, double(x)) : kNaN);
}
HWY_INLINE float fast_quotient(float x, float y) {
  const double quotient = double(x) / y, down = std::floor(quotient);
  const bool holds = int(std::abs(quotient) < kLargestQuotient) & int(std::abs(y) < float(kInfinity));  // no branch: a vector loop
  return float(holds ? std::copysign(down, quotient) : kNaN);
}

// Fast, and once more by libm where that gave NaN. The output may be an input: both read before it is written.
template <class Fast, class Libm>
void division_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Binary& a = *static_cast<const Binary*>(attrs);
  float buffer[256];
  for (int64_t at = 0, m; at < n; at += m) {
    m = std::min<int64_t>(n - at, 256);
    const void* operands[2] = {
        static_cast<const float*>(in[0]) + at, a.scalar == Side::none ? static_cast<const float*>(in[1]) + at : nullptr};
    binary_loop<float, float>(a, Fast(), operands, buffer, m);
    int32_t failed = 0;
    for (int64_t i = 0; i < m; ++i) failed |= buffer[i] != buffer[i];
    if (failed) binary_loop<float, float>(a, Libm(), operands, buffer, m);
    std::copy_n(buffer, m, static_cast<float*>(out) + at);
  }
}
template <class Fast, class Libm>
void division(KernelTable& kernels, const char* op, Fast, Libm) {
  kernels.add_tile(op, DType::float32, {division_tile<Fast, Libm>});
  kernels.add_tile(op, DType::float64, {binary_tile<double, Libm>});
}

void add_binary_math(KernelTable& k) {
  division(
      k, "floor_divide", [](float x, float y) HWY_ATTR { return fast_quotient(x, y); },
      []<class T>(T x, T y) HWY_ATTR { return floored_quotient(x, y); });
  division(
      k, "remainder", [](float x, float y) HWY_ATTR { return with_sign_of(fast_rest(x, y), y); },
      []<class T>(T x, T y) HWY_ATTR { return floored_rest(x, y); });
  division(
      k, "fmod", [](float x, float y) HWY_ATTR { return fast_rest(x, y); }, [](auto x, auto y) HWY_ATTR { return std::fmod(x, y); });
  binary(k, "floor_divide", Integers(), []<class T>(T x, T y) HWY_ATTR { return floored_quotient(x, y); });
  binary(k, "remainder", Integers(), []<class T>(T x, T y) HWY_ATTR { return floored_rest(x, y); });
  binary(k, "fmod", Integers(), []<class T>(T x, T y) HWY_ATTR { return truncated_rest(x, y); });
  binary(k, "gcd", Integers(), [](auto x, auto y) HWY_ATTR { return divisor_of(x, y); });
  binary(k, "lcm", Integers(), []<class T>(T x, T y) HWY_ATTR {
    const T divisor = divisor_of(x, y);
    return divisor == T(0) ? T(0) : magnitude(T(Unsigned<T>(x / divisor) * Unsigned<T>(y)));
  });
  binary(k, "atan2", Floats(), [](auto y, auto x) HWY_ATTR { return atan2_of(y, x); });
  binary(k, "hypot", Types<float>(), [](float x, float y) HWY_ATTR {
    const double length = std::sqrt(double(x) * x + double(y) * y);
    const bool far = std::abs(x) == float(kInfinity) || std::abs(y) == float(kInfinity);  // even beside NaN
    return far ? float(kInfinity) : float(length);
  });
  binary(k, "hypot", Types<double>(), [](double x, double y) HWY_ATTR { return std::hypot(x, y); });
  binary(k, "xlogy", Floats(), []<class T>(T x, T y) HWY_ATTR {
    const T product = x * log_of(y);
    return y != y ? y : x == T(0) ? T(0) : product;
  });
  binary(k, "logaddexp", Floats(), []<class T>(T x, T y) HWY_ATTR {
    const T large = x < y ? y : x, apart = x < y ? x - y : y - x;
    const bool equal_infinities = (x == y) & (std::abs(x) == T(kInfinity));
    const T sum = large + log1p_of(exp_of(apart));
    return equal_infinities ? x : sum;
  });
  binary(k, "logaddexp2", Floats(), []<class T>(T x, T y) HWY_ATTR {
    const T large = x < y ? y : x, apart = x < y ? x - y : y - x;
    const bool equal_infinities = (x == y) & (std::abs(x) == T(kInfinity));
    const T sum = large + log1p_of(exp2_of(apart)) * T(std::numbers::log2e);
    return equal_infinities ? x : sum;
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
