// Loops of the element-wise kernels and their registration: one line per operation. Compiled for each instruction set: include after
// foreach_target.h. Expressions are lambdas marked HWY_ATTR, so that they are compiled for the same instruction set.
#if defined(PYBURN_ELEMENTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_ELEMENTWISE_INL_H
#undef PYBURN_ELEMENTWISE_INL_H
#else
#define PYBURN_ELEMENTWISE_INL_H
#endif

#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/kernel_table.h"
#include "pyburn/backends/cpu/math/vector-inl.h"
#include "pyburn/ops/binary.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// The tile dtypes; other dtypes are converted on the way.
template <class... T>
struct Types {};
using Floats = Types<float, double>;
using Integers = Types<int32_t, int64_t, uint64_t>;
using AllTypes = Types<float, double, int32_t, int64_t, uint64_t>;

// Integer arithmetic wraps around: it is computed on unsigned integers, where overflow is defined.
template <class T>
using Unsigned = std::make_unsigned_t<T>;

// --- one tensor: fn(x) ---

template <class T, class Fn>
void unary_tile(const void*, const void* const* in, void* out, int64_t n) {
  using R = decltype(Fn()(T()));
  const T* HWY_RESTRICT x = static_cast<const T*>(in[0]);
  R* y = static_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = Fn()(x[i]);
}
template <class Fn, class... T>
void unary(KernelTable& kernels, const char* op, Types<T...>, Fn) {
  (kernels.add_tile(op, dtype_of<T>, {.fn = unary_tile<T, Fn>, .boolean = std::is_same_v<decltype(Fn()(T())), bool>}), ...);
}

// fn works on vectors of floats and of doubles.
template <class Fn>
void vector_tile(const void*, const void* const* in, void* out, int64_t n) {
  map_vectors(Fn(), static_cast<float*>(out), n, static_cast<const float*>(in[0]));
}
template <class Fn>
void by_vectors(KernelTable& kernels, const char* op, Fn) {
  kernels.add_tile(op, DType::float32, {vector_tile<Fn>});
  kernels.add_tile(op, DType::float64, {unary_tile<double, Fn>});
}

// With attributes: make(attributes, T()) returns fn, which stores the attributes it needs as T.
template <class T, class A, class Make>
void unary_tile_with(const void* attrs, const void* const* in, void* out, int64_t n) {
  const auto fn = Make()(*static_cast<const A*>(attrs), T());
  const T* HWY_RESTRICT x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = fn(x[i]);
}
template <class A, class Make, class... T>
void unary_with(KernelTable& kernels, const char* op, Types<T...>, Make) {
  (kernels.add_tile(op, dtype_of<T>, {.fn = unary_tile_with<T, A, Make>}), ...);
}

// --- two operands, one of which may be a number: fn(x, y) ---

// The output may alias an input (in place): reads and writes use the same index, so the loop still vectorises.
template <class T, class R, class A, class Fn>
void binary_loop(const A& a, Fn fn, const void* const* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  R* z = static_cast<R*>(out);
  if (a.scalar == Side::left) {
    const T s = a.value.template to<T>();
    for (int64_t i = 0; i < n; ++i) z[i] = fn(s, x[i]);
  } else if (a.scalar == Side::right) {
    const T s = a.value.template to<T>();
    for (int64_t i = 0; i < n; ++i) z[i] = fn(x[i], s);
  } else {
    const T* y = static_cast<const T*>(in[1]);
    for (int64_t i = 0; i < n; ++i) z[i] = fn(x[i], y[i]);
  }
}

template <class T, class Fn>
void binary_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  binary_loop<T, decltype(Fn()(T(), T()))>(*static_cast<const Binary*>(attrs), Fn(), in, out, n);
}
template <class Fn, class... T>
void binary(KernelTable& kernels, const char* op, Types<T...>, Fn) {
  (kernels.add_tile(op, dtype_of<T>, {.fn = binary_tile<T, Fn>, .boolean = std::is_same_v<decltype(Fn()(T(), T())), bool>}), ...);
}

// --- two or three tensors, and attributes: make(attributes, T()) returns fn(x, y) or fn(x, y, z) ---

template <class T, class A, class Make>
void tile_with(const void* attrs, const void* const* in, void* out, int64_t n) {
  const auto fn = Make()(*static_cast<const A*>(attrs), T());
  const T *x = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
  T* result = static_cast<T*>(out);
  if constexpr (std::is_invocable_v<decltype(fn), T, T>) {
    for (int64_t i = 0; i < n; ++i) result[i] = fn(x[i], y[i]);
  } else {
    const T* z = static_cast<const T*>(in[2]);
    for (int64_t i = 0; i < n; ++i) result[i] = fn(x[i], y[i], z[i]);
  }
}
template <class A, class Make, class... T>
void tensors_with(KernelTable& kernels, const char* op, Types<T...>, Make) {
  (kernels.add_tile(op, dtype_of<T>, {.fn = tile_with<T, A, Make>}), ...);
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
