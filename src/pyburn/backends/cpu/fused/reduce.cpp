#include "pyburn/backends/cpu/fused/reduce.h"

#include <algorithm>
#include <limits>

#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/ops/reduce.h"

namespace pyburn::cpu {
namespace {

constexpr int kLanes = 8;

struct Sum {
  template <class A>
  static A first() {
    return A(0);
  }
  template <class A>
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) return A(std::make_unsigned_t<A>(a) + std::make_unsigned_t<A>(b));  // wraps around
    else return a + b;
  }
  template <class A>
  static A finish(A y, int64_t) {
    return y;
  }
};
struct Mean : Sum {
  template <class A>
  static A finish(A y, int64_t n) {
    return y / A(n);
  }
};
struct Amax : Sum {
  template <class A, class L = std::numeric_limits<A>>
  static A first() {
    return L::has_infinity ? -L::infinity() : L::lowest();
  }
  template <class A>
  static A join(A a, A b) {
    return b > a || b != b ? b : a;
  }  // NaN wins, as in PyTorch
};
struct Amin : Sum {
  template <class A, class L = std::numeric_limits<A>>
  static A first() {
    return L::has_infinity ? L::infinity() : L::max();
  }
  template <class A>
  static A join(A a, A b) {
    return b < a || b != b ? b : a;
  }
};

// T: element, A: accumulator.
template <class Fold, class T, class A>
struct Folding {
  static void start(Lanes& lanes) { std::fill_n(at(lanes), kLanes, Fold::template first<A>()); }
  static void fold(Lanes& lanes, const void* tile, int64_t n) {
    const T* p = static_cast<const T*>(tile);
    A a[kLanes];
    std::copy_n(at(lanes), kLanes, a);
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
      for (int i = 0; i < kLanes; ++i) a[i] = Fold::join(a[i], A(p[j + i]));
    for (; j < n; ++j) a[0] = Fold::join(a[0], A(p[j]));
    std::copy_n(a, kLanes, at(lanes));
  }
  static void join(Lanes& lanes, const Lanes& later) {
    for (int i = 0; i < kLanes; ++i) at(lanes)[i] = Fold::join(at(lanes)[i], at(const_cast<Lanes&>(later))[i]);
  }
  static void finish(const Lanes& lanes, int64_t count, void* value) {
    const A* a = at(const_cast<Lanes&>(lanes));
    A total = a[0];
    for (int i = 1; i < kLanes; ++i) total = Fold::join(total, a[i]);
    *static_cast<T*>(value) = T(Fold::finish(total, count));
  }
  static A* at(Lanes& lanes) { return reinterpret_cast<A*>(lanes.bytes); }
};

template <class Fold>
Folder folder_of(DType compute) {
  auto make = []<class F>(F) { return Folder{F::start, F::fold, F::join, F::finish}; };
  switch (compute) {
    case DType::float64:
      return make(Folding<Fold, double, double>());
    case DType::float32:
      return make(Folding<Fold, float, double>());
    case DType::int32:
      return make(Folding<Fold, int32_t, int64_t>());
    case DType::uint64:
      return make(Folding<Fold, uint64_t, uint64_t>());
    default:
      return make(Folding<Fold, int64_t, int64_t>());
  }
}

}  // namespace

Folder folder(const OpInfo& reduction, DType compute) {
  if (&reduction == &op::sum) return folder_of<Sum>(compute);
  if (&reduction == &op::mean) return folder_of<Mean>(compute);
  return &reduction == &op::amax ? folder_of<Amax>(compute) : folder_of<Amin>(compute);
}

}  // namespace pyburn::cpu
