// Weighted sums of elements of planes: places and weights are made ready once for all channels, elements are gathered by vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/sample_planes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/backends/cpu/sampling-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/ops/sample_planes.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_SAMPLE_PLANES_TYPES
#define PYBURN_SAMPLE_PLANES_TYPES
namespace pyburn::cpu {

// Sums of `taps` rows of places and weights, `row` apart; n results of one plane.
template <class T>
struct SampleFunctions {
  void (*sum)(const T* plane, const Place<T>* places, const T* weight, int64_t taps, int64_t row, T* y, int64_t n);
  // sums[i] += dy[i] * plane[places[i]]
  void (*add_products)(const T* plane, const Place<T>* places, const T* dy, T* sums, int64_t n);
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void sum_of(const T* plane, const Place<T>* places, const T* weight, int64_t taps, int64_t row, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k < taps; ++k) sum = add_elements(d, plane, places + k * row + i, hn::LoadU(d, weight + k * row + i), sum);
    hn::StoreU(sum, d, y + i);
  }
  for (; i < n; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < taps; ++k)
      if (const auto at = places[k * row + i]; at >= 0) sum += weight[k * row + i] * plane[at];
    y[i] = sum;
  }
}

template <class T>
void add_products_of(const T* plane, const Place<T>* places, const T* dy, T* sums, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(add_elements(d, plane, places + i, hn::LoadU(d, dy + i), hn::LoadU(d, sums + i)), d, sums + i);
  for (; i < n; ++i)
    if (places[i] >= 0) sums[i] += dy[i] * plane[places[i]];
}

FunctionsOf<SampleFunctions, float, double> make_functions() {
  return {{sum_of<float>, add_products_of<float>}, {sum_of<double>, add_products_of<double>}};
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

PYBURN_FUNCTIONS(SampleFunctions)

struct Geometry {
  int64_t batch, channels, size, taps, results;
  Geometry(const Shape& planes, const Shape& places)
      : batch(planes[0]), channels(planes[1]), size(planes[2]), taps(places[1]), results(places[2]) {}
  int64_t per_image() const { return taps * results; }
};

constexpr int64_t kResults = 1024;  // of a plane at a time: their places and weights stay in L1 or L2

int64_t grain(int64_t work) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)); }

// Places as wide as elements, checked.
template <class T>
class Places {
 public:
  Places(const Geometry& g, const TensorHandle& places) : places_(g.batch * g.per_image()) {
    require<ValueError>(
        g.size <= std::numeric_limits<Place<T>>::max(), "planes of this size are too large for their dtype: got {}", g.size);
    const PlainInput<int64_t> from(places);
    parallel_for(g.batch * g.per_image(), kGrain, [&](int64_t begin, int64_t end) {
      int64_t largest = -1;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = from.data()[i];
        largest = std::max(largest, at);
        places_.data()[i] = Place<T>(at < 0 ? -1 : at);
      }
      require<IndexError>(largest < g.size, "index out of range: got {} for a plane of {}", largest, g.size);
    });
  }
  const Place<T>* data() { return places_.data(); }

 private:
  ScratchBuffer<Place<T>> places_;
};

template <class T>
void sample_planes(const SamplePlanes&, const TensorHandle& x_, const TensorHandle& places_, const TensorHandle& w_, TensorHandle& y_) {
  const Geometry g(x_.shape(), places_.shape());
  const PlainOutput<T> y(y_);
  if (y.numel() == 0) return;
  const PlainInput<T> x(x_), w(w_);
  Places<T> places(g, places_);
  if (g.size == 0) return (void)std::fill_n(y.data(), y.numel(), T(0));
  const int64_t blocks = (g.results + kResults - 1) / kResults;
  parallel_for(g.batch * blocks * g.channels, grain(g.taps * std::min(kResults, g.results)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / g.channels / blocks, first = i / g.channels % blocks * kResults, at = image * g.per_image() + first;
      const int64_t plane = image * g.channels + i % g.channels;
      functions<T>().sum(x.data() + plane * g.size, places.data() + at, w.data() + at, g.taps, g.results,
          y.data() + plane * g.results + first, std::min(kResults, g.results - first));
    }
  });
}

template <class T>
void sample_planes_input(
    const SamplePlanes&, const TensorHandle& dy_, const TensorHandle& places_, const TensorHandle& w_, TensorHandle& dx_) {
  const Geometry g(dx_.shape(), places_.shape());
  const PlainOutput<T> dx(dx_);
  std::fill_n(dx.data(), dx.numel(), T(0));
  const PlainInput<T> dy(dy_), w(w_);
  Places<T> places(g, places_);
  if (dx.numel() == 0) return;
  parallel_for(g.batch * g.channels, grain(g.per_image()), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      T* to = dx.data() + plane * g.size;
      const T* from = dy.data() + plane * g.results;
      const int64_t at = plane / g.channels * g.per_image();
      for (int64_t k = 0; k < g.taps; ++k)
        for (int64_t i = 0; i < g.results; ++i)
          if (const auto place = places.data()[at + k * g.results + i]; place >= 0) to[place] += w.data()[at + k * g.results + i] * from[i];
    }
  });
}

template <class T>
void sample_planes_weight(
    const SamplePlanes&, const TensorHandle& dy_, const TensorHandle& x_, const TensorHandle& places_, TensorHandle& dw_) {
  const Geometry g(x_.shape(), places_.shape());
  const PlainOutput<T> dw(dw_);
  std::fill_n(dw.data(), dw.numel(), T(0));
  if (dw.numel() == 0) return;
  const PlainInput<T> dy(dy_), x(x_);
  Places<T> places(g, places_);
  if (g.size == 0) return;
  const int64_t blocks = (g.results + kResults - 1) / kResults;
  parallel_for(g.batch * blocks, grain(g.taps * g.channels * std::min(kResults, g.results)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / blocks, first = i % blocks * kResults, n = std::min(kResults, g.results - first);
      for (int64_t c = 0; c < g.channels; ++c)
        for (int64_t k = 0; k < g.taps; ++k) {
          const int64_t plane = image * g.channels + c, at = image * g.per_image() + k * g.results + first;
          functions<T>().add_products(
              x.data() + plane * g.size, places.data() + at, dy.data() + plane * g.results + first, dw.data() + at, n);
        }
    }
  });
}

}  // namespace

void register_sample_planes(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<sample_planes<float>>(op::sample_planes, single);
  kernels.add<sample_planes<double>>(op::sample_planes, DType::float64);
  kernels.add<sample_planes_input<float>>(op::sample_planes_input, single);
  kernels.add<sample_planes_input<double>>(op::sample_planes_input, DType::float64);
  kernels.add<sample_planes_weight<float>>(op::sample_planes_weight, single);
  kernels.add<sample_planes_weight<double>>(op::sample_planes_weight, DType::float64);
}

}  // namespace pyburn::cpu
#endif
