// Elementwise functions of two operands, and where.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/binary.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/math/double-inl.h"
#include "pyburn/backends/cpu/math/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// x + alpha * y, or x - alpha * y.
template <class T, int sign>
void additive_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Additive& a = *static_cast<const Additive*>(attrs);
  const T alpha = a.alpha.template to<T>();
  binary_loop<T, T>(
      a,
      [alpha](T x, T y) HWY_ATTR {
        if constexpr (std::is_floating_point_v<T>) {
          return sign > 0 ? x + alpha * y : x - alpha * y;
        } else {
          const Unsigned<T> scaled = Unsigned<T>(alpha) * Unsigned<T>(y);
          return T(sign > 0 ? Unsigned<T>(x) + scaled : Unsigned<T>(x) - scaled);
        }
      },
      in, out, n);
}
template <class... T>
void additive(KernelTable& kernels, Types<T...>) {
  (kernels.add_tile("add", dtype_of<T>, {additive_tile<T, 1>}), ...);
  (kernels.add_tile("sub", dtype_of<T>, {additive_tile<T, -1>}), ...);
}

// Both sides are read before one is chosen, which makes it a vector loop.
template <class T>
void where_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Where& a = *static_cast<const Where*>(attrs);
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  T* z = static_cast<T*>(out);
  auto choose = [&](auto left, auto right) HWY_ATTR {
    for (int64_t i = 0; i < n; ++i) {
      const T x = left(i), y = right(i);
      z[i] = c[i] ? x : y;
    }
  };
  auto number = [](const Scalar& s) { return [v = s.to<T>()](int64_t) HWY_ATTR { return v; }; };
  auto tensor = [&](int k) { return [p = static_cast<const T*>(in[k])](int64_t i) HWY_ATTR { return p[i]; }; };
  switch (a.scalar) {
    case Side::both:
      return choose(number(a.value), number(a.other));
    case Side::left:
      return choose(number(a.value), tensor(1));
    case Side::right:
      return choose(tensor(1), number(a.value));
    default:
      return choose(tensor(1), tensor(2));
  }
}
template <class... T>
void where(KernelTable& kernels, Types<T...>) {
  (kernels.add_tile("where", dtype_of<T>, {.fn = where_tile<T>, .condition = true}), ...);
}

// The exponents that most tensors are raised to are products and roots.
template <class T>
void power_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Binary& a = *static_cast<const Binary*>(attrs);
  auto by = [&]<class Fn>(Fn) { unary_tile<T, Fn>(attrs, in, out, n); };
  const double e = a.scalar == Side::right ? a.value.to_double() : 0;
  if (e == 2) return by([](T x) HWY_ATTR { return x * x; });
  if (e == 3) return by([](T x) HWY_ATTR { return x * x * x; });
  if (e == -1) return by([](T x) HWY_ATTR { return T(1) / x; });
  if (e == 1) return by([](T x) HWY_ATTR { return x; });
#if HWY_NATIVE_FMA
  if constexpr (std::is_same_v<T, double>) {
    const double *x = static_cast<const double*>(in[0]), number = a.value.to_double();
    double* z = static_cast<double*>(out);
    if (a.scalar == Side::left) return map_double_vectors<PowOfDoubles>(z, n, operand(number), operand(x));
    if (a.scalar == Side::right) return map_double_vectors<PowOfDoubles>(z, n, operand(x), operand(number));
    return map_double_vectors<PowOfDoubles>(z, n, operand(x), operand(static_cast<const double*>(in[1])));
  }
#endif
  binary_loop<T, T>(
      a, [](T x, T y) HWY_ATTR { return pow_of(x, y); }, in, out, n);
}
template <class... T>
void powers(KernelTable& kernels, Types<T...>) {
  (kernels.add_tile("pow", dtype_of<T>, {power_tile<T>}), ...);
}

template <class T>
T integer_power(T x, T y) {
  if (y < T(0)) return x == T(1) ? T(1) : x == T(-1) ? (y % 2 ? T(-1) : T(1)) : T(0);
  Unsigned<T> result = 1, base = Unsigned<T>(x);
  for (Unsigned<T> e = Unsigned<T>(y); e; e >>= 1, base *= base)
    if (e & 1) result *= base;
  return T(result);
}

void add_binary(KernelTable& k) {
  additive(k, AllTypes());
  where(k, AllTypes());
  binary(k, "mul", Floats(), [](auto x, auto y) HWY_ATTR { return x * y; });
  binary(k, "mul", Integers(), []<class T>(T x, T y) HWY_ATTR { return T(Unsigned<T>(x) * Unsigned<T>(y)); });
  binary(k, "div", Floats(), [](auto x, auto y) HWY_ATTR { return x / y; });
  powers(k, Floats());
  binary(k, "pow", Integers(), []<class T>(T x, T y) HWY_ATTR { return integer_power(x, y); });
  binary(k, "maximum", AllTypes(), [](auto x, auto y) HWY_ATTR { return x > y || x != x ? x : y; });  // NaN wins
  binary(k, "minimum", AllTypes(), [](auto x, auto y) HWY_ATTR { return x < y || x != x ? x : y; });
  binary(k, "eq", AllTypes(), [](auto x, auto y) HWY_ATTR { return x == y; });
  binary(k, "ne", AllTypes(), [](auto x, auto y) HWY_ATTR { return x != y; });
  binary(k, "lt", AllTypes(), [](auto x, auto y) HWY_ATTR { return x < y; });
  binary(k, "le", AllTypes(), [](auto x, auto y) HWY_ATTR { return x <= y; });
  binary(k, "gt", AllTypes(), [](auto x, auto y) HWY_ATTR { return x > y; });
  binary(k, "ge", AllTypes(), [](auto x, auto y) HWY_ATTR { return x >= y; });
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_binary);
void register_binary(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_binary)(kernels); }

}  // namespace pyburn::cpu
#endif
