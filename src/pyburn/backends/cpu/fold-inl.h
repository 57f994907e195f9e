// Reductions ("folds") of many elements to one, compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_FOLD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_FOLD_INL_H
#undef PYBURN_FOLD_INL_H
#else
#define PYBURN_FOLD_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each fold defines its initial value, what it takes from an element, how two partial results are combined (scalars and vectors), the final
// step, and the accumulator type for elements of type T. Floats are summed in double, which is precise enough for any length. `p` is the
// parameter of the fold, if it has one.
struct Sum {
  static constexpr bool vectors = true;
  template <class T>
  using Partial = std::conditional_t<std::is_same_v<T, float>, double, std::conditional_t<std::is_same_v<T, int32_t>, int64_t, T>>;
  template <class A>
  static A first() {
    return A(0);
  }
  template <class A, class T>
  static A load(T x, double) {
    return A(x);
  }
  template <class D, class V>
  static V load_vector(D, V x, double) {
    return x;
  }
  template <class A>
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) return A(uint64_t(a) + uint64_t(b));  // wraps around
    else return a + b;
  }
  template <class V>
  static V join_vectors(V a, V b) {
    return hn::Add(a, b);
  }
  template <class A>
  static A finish(A y, int64_t, double) {
    return y;
  }
};
// For runs of at most a few thousand elements whose totals are accumulated in double: each lane adds so few elements that floats suffice.
template <class Fold>
struct InRuns : Fold {
  template <class T>
  using Partial = T;
};
struct Mean : Sum {
  template <class A>
  static A finish(A y, int64_t n, double) {
    return y / A(n);
  }
};
struct NanSum : Sum {
  template <class A, class T>
  static A load(T x, double) {
    return x == x ? A(x) : A(0);
  }
  template <class D, class V>
  static V load_vector(D, V x, double) {
    return hn::IfThenElseZero(hn::Eq(x, x), x);
  }
};
struct CountNonzero : Sum {
  template <class A, class T>
  static A load(T x, double) {
    return A(x != T(0));
  }
  template <class D, class V>
  static V load_vector(D d, V x, double) {
    return hn::IfThenElseZero(hn::Ne(x, hn::Zero(d)), hn::Set(d, 1));
  }
};
struct SumAbs : Sum {
  template <class A, class T>
  static A load(T x, double) {
    return x < T(0) ? -A(x) : A(x);
  }
  template <class D, class V>
  static V load_vector(D, V x, double) {
    return hn::Abs(x);
  }
};
struct SquaredDistance : Sum {  // from p
  template <class A, class T>
  static A load(T x, double p) {
    const A d = A(x) - A(p);
    return d * d;
  }
  template <class D, class V>
  static V load_vector(D d, V x, double p) {
    const V distance = hn::Sub(x, hn::Set(d, hn::TFromD<D>(p)));
    return hn::Mul(distance, distance);
  }
};
struct Norm2 : SquaredDistance {
  template <class A>
  static A finish(A y, int64_t, double) {
    return A(std::sqrt(y));
  }
};
struct NormP : Sum {
  static constexpr bool vectors = false;
  template <class A, class T>
  static A load(T x, double p) {
    return A(std::pow(std::abs(double(x)), p));
  }
  template <class A>
  static A finish(A y, int64_t, double p) {
    return A(std::pow(double(y), 1 / p));
  }
};
struct Prod : Sum {
  template <class A>
  static A first() {
    return A(1);
  }
  template <class A>
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) return A(uint64_t(a) * uint64_t(b));
    else return a * b;
  }
  template <class V>
  static V join_vectors(V a, V b) {
    return hn::Mul(a, b);
  }
};
struct Amax : Sum {
  template <class T>
  using Partial = T;
  template <class A, class L = std::numeric_limits<A>>
  static A first() {
    return L::has_infinity ? -L::infinity() : L::lowest();
  }
  template <class A>
  static A join(A a, A b) {
    return b > a || b != b ? b : a;
  }  // NaN propagates, as in PyTorch
  template <class V>
  static V join_vectors(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  }
};
struct Amin : Sum {
  template <class T>
  using Partial = T;
  template <class A, class L = std::numeric_limits<A>>
  static A first() {
    return L::has_infinity ? L::infinity() : L::max();
  }
  template <class A>
  static A join(A a, A b) {
    return b < a || b != b ? b : a;
  }
  template <class V>
  static V join_vectors(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
  }
};
template <class Extremum>
struct OfAbs : Extremum {
  template <class A, class T>
  static A load(T x, double) {
    return x < T(0) ? -A(x) : A(x);
  }
  template <class D, class V>
  static V load_vector(D, V x, double) {
    return hn::Abs(x);
  }
};
struct Any : Sum {
  static constexpr bool vectors = false;
  template <class A, class T>
  static A load(T x, double) {
    return A(x != T(0));
  }
  template <class A>
  static A join(A a, A b) {
    return A(a | b);
  }
};
struct All : Any {
  template <class A>
  static A first() {
    return A(1);
  }
  template <class A>
  static A join(A a, A b) {
    return A(a & b);
  }
};

template <class D, class T>
hn::Vec<D> load_promoted(D d, const T* p) {
  if constexpr (std::is_same_v<hn::TFromD<D>, T>) return hn::LoadU(d, p);
  else return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));
}

inline constexpr int64_t kAhead = 2048;  // in bytes

// Contiguous elements. Float sums are not associative, so their vector loop is explicit; the compiler vectorises integers.
template <class Fold, class T, class A = typename Fold::template Partial<T>>
A fold_contiguous(const T* p, int64_t n, double parameter = 0) {
  A total = Fold::template first<A>();
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<T> && Fold::vectors) {
    const hn::ScalableTag<A> d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    if (n >= lanes) {
      auto a = hn::Set(d, total), b = a, c = a, e = a;  // four accumulator chains hide the latency
      auto joined = [&](auto part, int64_t at)
                        HWY_ATTR { return Fold::join_vectors(part, Fold::load_vector(d, load_promoted(d, p + at), parameter)); };
      for (; i + 4 * lanes <= n; i += 4 * lanes) {
        for (int64_t line = 0; line < 4 * lanes * int64_t(sizeof(T)); line += 64)  // hardware prefetching stops at page boundaries
          hwy::Prefetch(reinterpret_cast<const char*>(p + i) + kAhead + line);
        a = joined(a, i);
        b = joined(b, i + lanes);
        c = joined(c, i + 2 * lanes);
        e = joined(e, i + 3 * lanes);
      }
      for (; i + lanes <= n; i += lanes) a = joined(a, i);
      HWY_ALIGN A parts[HWY_LANES(A)];
      hn::Store(Fold::join_vectors(Fold::join_vectors(a, b), Fold::join_vectors(c, e)), d, parts);
      for (int64_t k = 0; k < lanes; ++k) total = Fold::join(total, parts[k]);
    }
  }
  for (; i < n; ++i) total = Fold::join(total, Fold::template load<A>(p[i], parameter));
  return total;
}

// Accumulates in double: runs of floats are folded as floats, which is fast, and then combined.
template <class Fold, class T>
double fold_in_runs(const T* p, int64_t n, double parameter = 0) {
  constexpr int64_t kRun = 512;
  double total = 0;
  for (int64_t i = 0; i < n; i += kRun) total += double(fold_contiguous<InRuns<Fold>>(p + i, n - i < kRun ? n - i : kRun, parameter));
  return total;
}

// Combines acc[r] with p[r * kept_stride + j * stride] for all j < n. Walks memory in order: along rows or down columns.
template <class Fold, class T, class A = typename Fold::template Partial<T>>
void fold_block(const T* p, int64_t kept_stride, int64_t results, int64_t stride, int64_t n, A* HWY_RESTRICT acc, double parameter = 0) {
  auto load = [parameter](T x) HWY_ATTR { return Fold::template load<A>(x, parameter); };
  if (kept_stride == 1 && results > 1 && stride != 1) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4, p += 4 * stride) {  // four rows per pass, so that results are loaded and stored less often
      const T *q = p + stride, *r = q + stride, *s = r + stride;
      for (int64_t i = 0; i < results; ++i)
        acc[i] = Fold::join(Fold::join(Fold::join(Fold::join(acc[i], load(p[i])), load(q[i])), load(r[i])), load(s[i]));
    }
    for (; j < n; ++j, p += stride)
      for (int64_t i = 0; i < results; ++i) acc[i] = Fold::join(acc[i], load(p[i]));
    return;
  }
  for (int64_t i = 0; i < results; ++i, p += kept_stride) {
    if (stride == 1) {
      acc[i] = Fold::join(acc[i], fold_contiguous<Fold>(p, n, parameter));
    } else {
      A total = acc[i];
      for (int64_t j = 0; j < n; ++j) total = Fold::join(total, load(p[j * stride]));
      acc[i] = total;
    }
  }
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
