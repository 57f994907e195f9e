// The first lanes of a vector, read and written without touching what lies behind them: include after foreach_target.h.
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

// Elements from p on, zero from the n-th on.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, int64_t n) {
  if (n >= int64_t(hn::Lanes(d))) return hn::LoadU(d, p);
#if HWY_TARGET <= HWY_AVX2  // elsewhere a masked load reads the whole vector
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

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
