// Pooling where channels come last: the rows of a row of windows are joined first, then the pixels of the joined row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/pool_pixels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/pool_pixels.h"
#include "pyburn/backends/cpu/pool_windows-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// to = the join of a and b; `to` may be a.
template <class Fold>
HWY_INLINE void join(float* to, const float* a, const float* b, int64_t n) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = kVector<float>;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(Fold::join_lanes(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
  for (; i < n; ++i) to[i] = Fold::join(a[i], b[i]);
}

// to = the join of `count` runs of n elements, which are `step` apart.
template <class Fold>
HWY_INLINE void join_runs(float* to, const float* from, int64_t step, int64_t count, int64_t n) {
  if (count < 1) return (void)std::fill_n(to, n, Fold::template start<float>);
  if (count == 1) return (void)std::copy_n(from, n, to);
  join<Fold>(to, from, from + step, n);
  for (int64_t k = 2; k < count; ++k) join<Fold>(to, to, from + k * step, n);
}
int64_t taps(const PoolAxis& a, int64_t o) { return (std::max<int64_t>(0, a.last(o) - a.first(o)) + a.dilation - 1) / a.dilation; }

// One row of windows. `joined` has room for a row of x.
template <class Fold>
void join_row(const PoolWindows& w, int64_t channels, const float* x, int64_t row, float* y, float* joined) {
  const int64_t width = w.x.in * channels;
  join_runs<Fold>(joined, x + w.y.first(row) * width, w.y.dilation * width, taps(w.y, row), width);
  for (int64_t o = 0; o < w.x.out; ++o, y += channels)
    join_runs<Fold>(y, joined + w.x.first(o) * channels, w.x.dilation * channels, taps(w.x, o), channels);
}

void max_rows(const PoolWindows& w, const PixelImages& p, int64_t begin, int64_t end, float* joined) {
  const int64_t row = w.x.out * p.channels;
  for (int64_t i = begin; i < end; ++i)
    join_row<Largest>(w, p.channels, p.x + i / w.y.out * w.plane() * p.channels, i % w.y.out, p.y + i * row, joined);
}

void mean_rows(const PoolWindows& w, const PixelImages& p, int64_t begin, int64_t end, float* joined) {
  const int64_t row = w.x.out * p.channels;
  for (int64_t i = begin; i < end; ++i) {
    float* y = p.y + i * row;
    join_row<Total>(w, p.channels, p.x + i / w.y.out * w.plane() * p.channels, i % w.y.out, y, joined);
    for (int64_t o = 0; o < w.x.out; ++o)
      for (int64_t c = 0; c < p.channels; ++c) y[o * p.channels + c] /= divisor_of<float>(w, 0, i % w.y.out, o);
  }
}

// y = the sum of n pixels, which are `step` apart, for `vectors` vectors of channels; `abreast` pixels are summed side by side, because
// each sum waits for the one before.
template <int vectors, int abreast>
HWY_INLINE void sum_pixels(const float* x, int64_t step, int64_t n, float* y) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = kVector<float>;
  hn::Vec<decltype(d)> sums[vectors * abreast];
  for (auto& sum : sums) sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + abreast <= n; i += abreast, x += abreast * step) HWY_UNROLL(4)
  for (int k = 0; k < vectors * abreast; ++k) sums[k] = hn::Add(sums[k], hn::LoadU(d, x + k / vectors * step + k % vectors * lanes));
  for (; i < n; ++i, x += step)
    for (int v = 0; v < vectors; ++v) sums[v] = hn::Add(sums[v], hn::LoadU(d, x + v * lanes));
  for (int k = vectors; k < vectors * abreast; ++k) sums[k % vectors] = hn::Add(sums[k % vectors], sums[k]);
  for (int v = 0; v < vectors; ++v) hn::StoreU(sums[v], d, y + v * lanes);
}

// The mean of all pixels, for channels [first, last).
void mean_of_all(const PoolWindows& w, const PixelImages& p, int64_t image, int64_t first, int64_t last) {
  constexpr int64_t lanes = kVector<float>;
  const float* x = p.x + image * w.plane() * p.channels + first;
  float* y = p.y + image * p.channels + first;
  const int64_t channels = last - first;
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) sum_pixels<4, 2>(x + c, p.channels, w.plane(), y + c);
  for (; c + lanes <= channels; c += lanes) sum_pixels<1, 8>(x + c, p.channels, w.plane(), y + c);
  for (; c < channels; ++c) {
    float sum = 0;
    for (int64_t i = 0; i < w.plane(); ++i) sum += x[i * p.channels + c];
    y[c] = sum;
  }
  const float divisor = divisor_of<float>(w, 0, 0, 0);
  for (c = 0; c < channels; ++c) y[c] /= divisor;
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(max_rows);
HWY_EXPORT(mean_rows);
HWY_EXPORT(mean_of_all);

// rows(begin, end, buffer of a row of x) for the rows of windows of all images.
template <class Rows>
void pool_rows(const PoolWindows& w, const PixelImages& p, Rows rows) {
  const int64_t work = (w.elements() / w.y.out + w.x.in) * p.channels;
  parallel_for(p.images * w.y.out, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    ScratchBuffer<float> joined(w.x.in * p.channels);
    rows(begin, end, joined.data());
  });
}

}  // namespace

void max_pool_pixels(const PoolWindows& w, const PixelImages& p) {
  pool_rows(w, p, [&](int64_t begin, int64_t end, float* joined) { HWY_DYNAMIC_DISPATCH(max_rows)(w, p, begin, end, joined); });
}

void avg_pool_pixels(const PoolWindows& w, const PixelImages& p) {
  if (!w.whole())
    return pool_rows(w, p, [&](int64_t begin, int64_t end, float* joined) { HWY_DYNAMIC_DISPATCH(mean_rows)(w, p, begin, end, joined); });
  constexpr int64_t kChannels = 128;  // at a time: long enough runs of memory
  const int64_t parts = (p.channels + kChannels - 1) / kChannels;
  parallel_for(p.images * parts, std::max<int64_t>(1, kGrain / (kChannels * w.plane())), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * kChannels;
      HWY_DYNAMIC_DISPATCH(mean_of_all)(w, p, i / parts, first, std::min(first + kChannels, p.channels));
    }
  });
}

}  // namespace pyburn::cpu
#endif
