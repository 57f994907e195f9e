// Reads and writes some lanes of a vector without touching the memory around them: include after foreach_target.h.
#if defined(PYBURN_PARTIAL_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_PARTIAL_VECTOR_INL_H
#undef PYBURN_PARTIAL_VECTOR_INL_H
#else
#define PYBURN_PARTIAL_VECTOR_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements from p on; lanes from the n-th on are zero.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, int64_t n) {
  if (n >= int64_t(hn::Lanes(d))) return hn::LoadU(d, p);
#if HWY_TARGET <= HWY_AVX2  // on other targets a masked load reads the whole vector
  return hn::MaskedLoad(hn::FirstN(d, size_t(std::max<int64_t>(n, 0))), d, p);
#else
  HWY_ALIGN T lanes[HWY_LANES(T)] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* p, int64_t n) {
  if (n >= int64_t(hn::Lanes(d))) return hn::StoreU(v, d, p);
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, size_t(std::max<int64_t>(n, 0))), d, p);
#else
  HWY_ALIGN T lanes[HWY_LANES(T)];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

// The lanes of a vector that are inside a row, where lane 0 is element `at` of [0, size); the others are zero and not read. Created once
// for a column of vectors.
template <class D>
class LanesInside {
 public:
  using T = hn::TFromD<D>;
  LanesInside() = default;
  LanesInside(D d, int64_t at, int64_t size) {
    const int64_t lanes = int64_t(hn::Lanes(d)), first = std::clamp<int64_t>(-at, 0, lanes),
                  last = std::clamp<int64_t>(size - at, 0, lanes);
#if HWY_TARGET <= HWY_AVX2  // on other targets a masked load reads the whole vector
    mask_ = hn::AndNot(hn::FirstN(d, size_t(first)), hn::FirstN(d, size_t(last)));
#else
    first_ = first, last_ = last;
#endif
  }
  // As above, but odd lanes are always zero.
  static LanesInside even(D d, int64_t at, int64_t size) {
    LanesInside found(d, at, size);
#if HWY_TARGET <= HWY_AVX2
    found.mask_ = hn::And(found.mask_, hn::Eq(hn::OddEven(hn::Set(d, T(1)), hn::Zero(d)), hn::Zero(d)));
#else
    found.step_ = 2, found.first_ += found.first_ % 2;
#endif
    return found;
  }
  HWY_INLINE hn::Vec<D> load(D d, const T* p) const {
#if HWY_TARGET <= HWY_AVX2
    return hn::MaskedLoad(mask_, d, p);
#else
    HWY_ALIGN T lanes[HWY_LANES(T)] = {};
    for (int64_t i = first_; i < last_; i += step_) lanes[i] = p[i];
    return hn::Load(d, lanes);
#endif
  }
  // As above with `outside` in the other lanes.
  HWY_INLINE hn::Vec<D> load_or(D d, const T* p, hn::Vec<D> outside) const {
#if HWY_TARGET <= HWY_AVX2
    return hn::IfThenElse(mask_, hn::MaskedLoad(mask_, d, p), outside);
#else
    HWY_ALIGN T lanes[HWY_LANES(T)];
    hn::Store(outside, d, lanes);
    for (int64_t i = first_; i < last_; i += step_) lanes[i] = p[i];
    return hn::Load(d, lanes);
#endif
  }

 private:
#if HWY_TARGET <= HWY_AVX2
  hn::Mask<D> mask_;
#else
  int64_t first_, last_, step_ = 1;
#endif
};

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
