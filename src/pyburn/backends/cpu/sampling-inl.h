// Weighted sums of gathered plane elements, by vectors. Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_SAMPLING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_SAMPLING_INL_H
#undef PYBURN_SAMPLING_INL_H
#else
#define PYBURN_SAMPLING_INL_H
#endif

#include <hwy/highway.h>

#include "pyburn/backends/cpu/sampling_places.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sum + factor * the elements at the given indices of a non-empty plane; negative indices contribute nothing, even times infinity.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> add_elements(D d, const T* plane, const Place<T>* places, hn::Vec<D> factor, hn::Vec<D> sum) {
  const hn::RebindToSigned<D> di;
  const auto at = hn::LoadU(di, places);
  const auto outside = hn::RebindMask(d, hn::Lt(at, hn::Zero(di)));
  return hn::IfThenElse(outside, sum, hn::MulAdd(factor, hn::GatherIndex(d, plane, hn::Max(at, hn::Zero(di))), sum));
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
