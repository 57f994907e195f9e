// Loops of the elementwise kernels, compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_ELEMENTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_ELEMENTWISE_INL_H
#undef PYBURN_ELEMENTWISE_INL_H
#else
#define PYBURN_ELEMENTWISE_INL_H
#endif

#include "pyburn/backends/cpu/elementwise.h"
#include "pyburn/ops/binary.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

template <class T, class Fn>
void unary_tile(const void*, const void* const* in, void* out, int64_t n) {
  const T* HWY_RESTRICT x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = Fn()(x[i]);
}

// The output may be one of the inputs (in place): same index, so the loop is still a vector loop.
template <class T, class R, class Attrs, class Fn>
void binary_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Attrs& a = *static_cast<const Attrs*>(attrs);
  const Fn fn(a);
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

template <class T>
struct AddFn {
  T alpha;
  explicit AddFn(const Additive& a) : alpha(a.alpha.to<T>()) {}
  T operator()(T x, T y) const { return T(x + alpha * y); }
};
template <class T>
struct SubFn {
  T alpha;
  explicit SubFn(const Additive& a) : alpha(a.alpha.to<T>()) {}
  T operator()(T x, T y) const { return T(x - alpha * y); }
};
// Adapts a stateless functor to the constructor that binary_tile calls.
template <class Fn>
struct Plain {
  explicit Plain(const Binary&) {}
  template <class T>
  auto operator()(T x, T y) const {
    return Fn()(x, y);
  }
};
struct MulFn {
  template <class T>
  T operator()(T x, T y) const {
    return T(x * y);
  }
};
struct DivFn {
  template <class T>
  T operator()(T x, T y) const {
    return T(x / y);
  }
};
struct MaxFn {
  template <class T>
  T operator()(T x, T y) const {
    return x > y || x != x ? x : y;
  }
};  // NaN wins
struct MinFn {
  template <class T>
  T operator()(T x, T y) const {
    return x < y || x != x ? x : y;
  }
};
struct EqFn {
  template <class T>
  bool operator()(T x, T y) const {
    return x == y;
  }
};
struct NeFn {
  template <class T>
  bool operator()(T x, T y) const {
    return x != y;
  }
};
struct LtFn {
  template <class T>
  bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LeFn {
  template <class T>
  bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct GtFn {
  template <class T>
  bool operator()(T x, T y) const {
    return x > y;
  }
};
struct GeFn {
  template <class T>
  bool operator()(T x, T y) const {
    return x >= y;
  }
};

template <class T>
void where_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Where& a = *static_cast<const Where*>(attrs);
  const bool* c = static_cast<const bool*>(in[0]);
  const T* x = static_cast<const T*>(in[1]);
  T* z = static_cast<T*>(out);
  const T s = a.value.template to<T>();
  if (a.scalar == Side::left)
    for (int64_t i = 0; i < n; ++i) z[i] = c[i] ? s : x[i];
  else if (a.scalar == Side::right)
    for (int64_t i = 0; i < n; ++i) z[i] = c[i] ? x[i] : s;
  else {
    const T* y = static_cast<const T*>(in[2]);
    for (int64_t i = 0; i < n; ++i) z[i] = c[i] ? x[i] : y[i];
  }
}

template <class T, class R, class Fn>
constexpr TileFn plain_tile = binary_tile<T, R, Binary, Plain<Fn>>;

template <class T, class PowFn>
BinaryTiles binary_tiles() {
  return {binary_tile<T, T, Additive, AddFn<T>>, binary_tile<T, T, Additive, SubFn<T>>, plain_tile<T, T, MulFn>,
      std::is_floating_point_v<T> ? plain_tile<T, T, DivFn> : nullptr, plain_tile<T, T, PowFn>, plain_tile<T, T, MaxFn>,
      plain_tile<T, T, MinFn>, plain_tile<T, bool, EqFn>, plain_tile<T, bool, NeFn>, plain_tile<T, bool, LtFn>, plain_tile<T, bool, LeFn>,
      plain_tile<T, bool, GtFn>, plain_tile<T, bool, GeFn>, where_tile<T>};
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
