// Elementwise kernels on integers: compiled once per instruction set, chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/elementwise_integer.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/ops/unary.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Arithmetic wraps around: computed without sign, where overflow has a meaning.
template <class T>
using Unsigned = std::make_unsigned_t<T>;
struct Neg {
  template <class T>
  T operator()(T x) const {
    return T(Unsigned<T>(0) - Unsigned<T>(x));
  }
};
struct Abs {
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? Neg()(x) : x;
  }
};
struct Relu {
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
struct Mul {
  template <class T>
  T operator()(T x, T y) const {
    return T(Unsigned<T>(x) * Unsigned<T>(y));
  }
};
struct Pow {
  template <class T>
  T operator()(T x, T y) const {
    if (y < T(0)) return x == T(1) ? T(1) : x == T(-1) ? (y % 2 ? T(-1) : T(1)) : T(0);
    Unsigned<T> result = 1, base = Unsigned<T>(x);
    for (Unsigned<T> e = Unsigned<T>(y); e; e >>= 1, base *= base)
      if (e & 1) result *= base;
    return T(result);
  }
};
template <class T, int sign>
struct Additive_ {
  Unsigned<T> alpha;
  explicit Additive_(const Additive& a) : alpha(Unsigned<T>(a.alpha.to<T>())) {}
  T operator()(T x, T y) const {
    const Unsigned<T> scaled = Unsigned<T>(alpha * Unsigned<T>(y));
    return T(sign > 0 ? Unsigned<T>(x) + scaled : Unsigned<T>(x) - scaled);
  }
};

struct IntegerTiles {
  TileFn neg, abs, relu;
  BinaryTiles binary;
};
template <class T>
IntegerTiles tiles() {
  IntegerTiles t{unary_tile<T, Neg>, unary_tile<T, Abs>, unary_tile<T, Relu>, binary_tiles<T, Pow>()};
  t.binary.add = binary_tile<T, T, Additive, Additive_<T, 1>>;
  t.binary.sub = binary_tile<T, T, Additive, Additive_<T, -1>>;
  t.binary.mul = plain_tile<T, T, Mul>;
  t.binary.div = nullptr;  // true division is floating
  return t;
}

template <class T>
void add_type(KernelTable& kernels, DType compute) {
  const IntegerTiles t = tiles<T>();
  kernels.add_tile(op::neg, compute, {t.neg});
  kernels.add_tile(op::abs, compute, {t.abs});
  kernels.add_tile(op::relu, compute, {t.relu});
  add_binary_tiles(kernels, compute, t.binary);
}

void add_integer_tiles(KernelTable& kernels) {
  add_type<int32_t>(kernels, DType::int32);
  add_type<int64_t>(kernels, DType::int64);
  add_type<uint64_t>(kernels, DType::uint64);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_integer_tiles);

void register_elementwise_integer(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_integer_tiles)(kernels); }

void add_binary_tiles(KernelTable& k, DType compute, const BinaryTiles& t) {
  k.add_tile(op::add, compute, {t.add});
  k.add_tile(op::sub, compute, {t.sub});
  k.add_tile(op::mul, compute, {t.mul});
  if (t.div) k.add_tile(op::div, compute, {t.div});
  if (t.pow) k.add_tile(op::pow, compute, {t.pow});
  k.add_tile(op::maximum, compute, {t.maximum});
  k.add_tile(op::minimum, compute, {t.minimum});
  const std::pair<OpInfo*, TileFn> comparisons[] = {
      {&op::eq, t.eq}, {&op::ne, t.ne}, {&op::lt, t.lt}, {&op::le, t.le}, {&op::gt, t.gt}, {&op::ge, t.ge}};
  for (auto [op, fn] : comparisons) k.add_tile(*op, compute, {.fn = fn, .boolean = true});
  k.add_tile(op::where, compute, {.fn = t.where, .condition = true});
}

}  // namespace pyburn::cpu
#endif
