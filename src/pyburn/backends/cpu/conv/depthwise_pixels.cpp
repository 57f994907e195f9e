#include "pyburn/backends/cpu/conv/depthwise_pixels.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/depthwise_pixels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTaskWork = 1 << 18;        // multiply-adds that are worth a task
constexpr int64_t kStripBytes = 96 * 1024;    // of the source of a task for one vector of channels: it stays in L2
constexpr int64_t kFewestRows = 4;            // of results, where there are so many: rows between tasks are copied twice
constexpr int kMostColumns = 8;               // sums enough to keep the processor busy
constexpr int64_t kLanes = kVector<float>;

int64_t vectors_of(const ConvGeometry& g) { return divided_up(g.groups, kLanes); }
int64_t weights_size(const ConvGeometry& g) { return vectors_of(g) * g.taps() * kLanes; }

void pack(const ConvGeometry& g, const float* weight, float* packed) {
  std::fill_n(packed, weights_size(g), 0.0f);
  for (int64_t c = 0; c < g.groups; ++c)
    for (int64_t t = 0; t < g.taps(); ++t) packed[(c / kLanes * g.taps() + t) * kLanes + c % kLanes] = weight[c * g.taps() + t];
}

// One vector of channels of the rows of the source that a task needs, with the zeros around the image.
struct Strip {
  const float* data;
  int64_t row, tap_row, tap_column;  // steps: to the next row of results, to the next taps
  int64_t column;                    // to the next result
};

// Results side by side. Each is summed in the order of the taps.
template <int columns, int step>
void sum_taps(const ConvGeometry& g, const Strip& s, const float* from, const float* weights, const float* bias, int64_t channels, float* to,
    int64_t to_column) {
  const hn::ScalableTag<float> d;
  const int64_t column = step ? step * kLanes : s.column;
  hn::Vec<decltype(d)> sums[columns];
  const auto start = bias ? load_first(d, bias, channels) : hn::Zero(d);
  HWY_UNROLL(8)
  for (int i = 0; i < columns; ++i) sums[i] = start;
  for (int64_t y = 0; y < g.y.kernel; ++y, from += s.tap_row) {
    const float* at = from;
    for (int64_t x = 0; x < g.x.kernel; ++x, at += s.tap_column, weights += kLanes) {
      const auto weight = hn::LoadU(d, weights);
      HWY_UNROLL(8)
      for (int i = 0; i < columns; ++i) sums[i] = hn::MulAdd(weight, hn::LoadU(d, at + i * column), sums[i]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < columns; ++i) store_first(sums[i], d, to + i * to_column, channels);
}

using SumTaps = void (*)(const ConvGeometry&, const Strip&, const float*, const float*, const float*, int64_t, float*, int64_t);
template <int step>
SumTaps sum_function(int64_t columns) {
  static constexpr auto table = []<int... c>(std::integer_sequence<int, c...>) {
    return std::array<SumTaps, kMostColumns>{sum_taps<c + 1, step>...};
  }
  (std::make_integer_sequence<int, kMostColumns>());
  return table[size_t(columns - 1)];
}
SumTaps sum_function(int64_t step, int64_t columns) {
  if (step == 1) return sum_function<1>(columns);
  return step == 2 ? sum_function<2>(columns) : sum_function<0>(columns);
}

// Rows [begin, end) of the results of an image.
class RowsTask {
 public:
  RowsTask(const ConvGeometry& g, int64_t begin, int64_t end)
      : g_(g), begin_(begin), end_(end), first_(begin * g.y.stride - g.y.padding), rows_(reach(g.y, end - begin)), width_(reach(g.x, g.x.out)) {}

  static int64_t reach(const ConvAxis& a, int64_t results) { return (results - 1) * a.stride + (a.kernel - 1) * a.dilation + 1; }
  int64_t strip_size() const { return rows_ * width_ * kLanes; }

  // `strip`: zeros where the image has no elements.
  void run(const float* image, const Images<const float>& source, const float* packed, const float* bias, float* result,
      const Images<float>& to, float* strip) const {
    const Strip s{strip, g_.y.stride * width_ * kLanes, g_.y.dilation * width_ * kLanes, g_.x.dilation * kLanes, g_.x.stride * kLanes};
    const int64_t parts = divided_up(g_.x.out, kMostColumns);
    for (int64_t c = 0; c < g_.groups; c += kLanes, packed += g_.taps() * kLanes) {
      const int64_t channels = std::min(kLanes, g_.groups - c);
      copy(image + c, source, channels, strip);
      for (int64_t y = begin_; y < end_; ++y)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t x = g_.x.out * part / parts, columns = g_.x.out * (part + 1) / parts - x;
          sum_function(g_.x.stride, columns)(g_, s, strip + (y - begin_) * s.row + x * s.column, packed, bias ? bias + c : nullptr, channels,
              result + c + y * to.row + x * to.column, to.column);
        }
    }
  }

 private:
  void copy(const float* from, const Images<const float>& source, int64_t channels, float* strip) const {
    const hn::ScalableTag<float> d;
    const int64_t padding = g_.x.padding, count = std::min(g_.x.in, width_ - padding);
    for (int64_t y = std::max<int64_t>(first_, 0); y < std::min(first_ + rows_, g_.y.in); ++y) {
      const float* p = from + y * source.row;
      float* q = strip + ((y - first_) * width_ + padding) * kLanes;
      for (int64_t x = 0; x < count; ++x, p += source.column, q += kLanes) hn::StoreU(load_first(d, p, channels), d, q);
    }
  }

  const ConvGeometry& g_;
  const int64_t begin_, end_, first_, rows_, width_;  // first_: row of the source, may be outside
};

// Rows of results at a time.
int64_t rows_at_once(const ConvGeometry& g) {
  const int64_t width = RowsTask::reach(g.x, g.x.out) * kLanes * int64_t(sizeof(float));
  const int64_t fitting = (kStripBytes / width - (g.y.kernel - 1) * g.y.dilation) / g.y.stride;
  const int64_t worth = divided_up(kTaskWork, g.x.out * g.groups * g.taps());
  const int64_t rows = std::clamp(fitting, std::min(kFewestRows, g.y.out), std::max(kFewestRows, worth));
  return divided_up(g.y.out, divided_up(g.y.out, rows));
}

void convolve(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  const int64_t rows = rows_at_once(g), blocks = divided_up(g.y.out, rows);
  const int64_t work = rows * g.x.out * g.groups * g.taps();
  parallel_for(g.batch * blocks, std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work)), [&](int64_t first, int64_t last) {
    ScratchBuffer<float> strip(RowsTask(g, 0, rows).strip_size());
    for (int64_t i = first; i < last; ++i) {
      const int64_t image = i / blocks, begin = i % blocks * rows, end = std::min(g.y.out, begin + rows);
      if (begin >= end) continue;
      const RowsTask task(g, begin, end);
      std::fill_n(strip.data(), task.strip_size(), 0.0f);
      task.run(source.data + image * source.image, source, packed, bias, result.data + image * result.image, result, strip.data());
      finish(image, 0, g.groups, begin * g.x.out, (end - begin) * g.x.out);
    }
  });
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(weights_size);
HWY_EXPORT(pack);
HWY_EXPORT(convolve);

int64_t depthwise_pixels_weights_size(const ConvGeometry& g) { return HWY_DYNAMIC_DISPATCH(weights_size)(g); }
void pack_depthwise_pixels_weights(const ConvGeometry& g, const float* weight, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack)(g, weight, packed);
}
void convolve_depthwise_pixels(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  HWY_DYNAMIC_DISPATCH(convolve)(g, source, packed, bias, result, finish);
}

}  // namespace pyburn::cpu
#endif
