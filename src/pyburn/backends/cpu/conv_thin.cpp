#include "pyburn/backends/cpu/conv_thin.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv_thin.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "pyburn/backends/cpu/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// to[i] = from[i * step] for count elements.
template <class T>
void thin_row(const T* from, int64_t step, int64_t count, T* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  for (; step == 2 && i < count; i += lanes) {
    const int64_t left = 2 * (count - i) - 1;  // up to the last element that is wanted
    const auto low = load_first(d, from + 2 * i, left), high = load_first(d, from + 2 * i + lanes, left - lanes);
    store_first(hn::ConcatEven(d, high, low), d, to + i, count - i);
  }
#endif
  for (; i < count; ++i) to[i] = from[i * step];
}

// to[i * step] = from[i], zero elsewhere; `width` elements.
template <class T>
void spread_row(const T* from, int64_t step, int64_t count, T* to, int64_t width) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  for (; step == 2 && i + lanes <= count && 2 * (i + lanes) <= width; i += lanes)
    hn::StoreInterleaved2(hn::LoadU(d, from + i), hn::Zero(d), d, to + 2 * i);
#endif
  std::fill(to + i * step, to + width, T(0));
  for (; i < count; ++i) to[i * step] = from[i];
}

template <class T>
void thin_of(const ConvGeometry& g, const T* source, int64_t planes, T* thinned) {
  for (int64_t p = 0; p < planes; ++p, source += g.plane())
    for (int64_t y = 0; y < g.y.out; ++y, thinned += g.x.out) thin_row(source + y * g.y.stride * g.x.in, g.x.stride, g.x.out, thinned);
}
template <class T>
void spread_of(const ConvGeometry& g, const T* thinned, int64_t planes, T* result) {
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t y = 0; y < g.y.in; ++y, result += g.x.in) {
      if (y % g.y.stride != 0 || y / g.y.stride >= g.y.out) {
        std::fill_n(result, g.x.in, T(0));
        continue;
      }
      spread_row(thinned, g.x.stride, g.x.out, result, g.x.in);
      thinned += g.x.out;
    }
}

void thin_float(const ConvGeometry& g, const float* from, int64_t planes, float* to) { thin_of(g, from, planes, to); }
void thin_double(const ConvGeometry& g, const double* from, int64_t planes, double* to) { thin_of(g, from, planes, to); }
void spread_float(const ConvGeometry& g, const float* from, int64_t planes, float* to) { spread_of(g, from, planes, to); }
void spread_double(const ConvGeometry& g, const double* from, int64_t planes, double* to) { spread_of(g, from, planes, to); }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(thin_float);
HWY_EXPORT(thin_double);
HWY_EXPORT(spread_float);
HWY_EXPORT(spread_double);

template <>
void thin_planes(const ConvGeometry& g, const float* from, int64_t planes, float* to) {
  HWY_DYNAMIC_DISPATCH(thin_float)(g, from, planes, to);
}
template <>
void thin_planes(const ConvGeometry& g, const double* from, int64_t planes, double* to) {
  HWY_DYNAMIC_DISPATCH(thin_double)(g, from, planes, to);
}
template <>
void spread_planes(const ConvGeometry& g, const float* from, int64_t planes, float* to) {
  HWY_DYNAMIC_DISPATCH(spread_float)(g, from, planes, to);
}
template <>
void spread_planes(const ConvGeometry& g, const double* from, int64_t planes, double* to) {
  HWY_DYNAMIC_DISPATCH(spread_double)(g, from, planes, to);
}

}  // namespace pyburn::cpu
#endif
