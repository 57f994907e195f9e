#include "pyburn/backends/cpu/conv/depthwise_pixels.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/depthwise_pixels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTaskWork = 1 << 18;      // multiply-adds that are worth a task
constexpr int64_t kTaskBytes = 256 * 1024;  // of the source of a task, which meets one vector of channels after the other: it stays in L2
constexpr int64_t kLanes = kVector<float>;

int64_t vectors_of(const ConvGeometry& g) { return divided_up(g.groups, kLanes); }
int64_t weights_size(const ConvGeometry& g) { return vectors_of(g) * g.taps() * kLanes; }

void pack(const ConvGeometry& g, const float* weight, float* packed) {
  std::fill_n(packed, weights_size(g), 0.0f);
  for (int64_t c = 0; c < g.groups; ++c)
    for (int64_t t = 0; t < g.taps(); ++t) packed[(c / kLanes * g.taps() + t) * kLanes + c % kLanes] = weight[c * g.taps() + t];
}

// A vector of channels, of which `count` exist.
class Channels {
 public:
  using D = hn::ScalableTag<float>;
  explicit Channels(int64_t count) : count_(count) {
#if HWY_TARGET <= HWY_AVX2
    mask_ = hn::FirstN(D(), size_t(count));
#endif
  }
  hn::Vec<D> load(const float* p) const {
#if HWY_TARGET <= HWY_AVX2
    return hn::MaskedLoad(mask_, D(), p);
#else
    return load_first(D(), p, count_);  // a masked load would read the whole vector
#endif
  }
  void store(hn::Vec<D> v, float* p) const { store_first(v, D(), p, count_); }

 private:
  int64_t count_;
#if HWY_TARGET <= HWY_AVX2
  hn::Mask<D> mask_;
#endif
};

// A row of results of one vector of channels.
struct Row {
  const ConvGeometry& g;
  const Channels& channels;
  const float* from;  // column 0 of the row of the source that the first tap down meets
  int64_t source_row, source_column;
  int64_t y_begin, y_end;  // taps down that lie inside of the image
  const float *weights, *bias;
  float* to;
  int64_t to_column;
};

// Results [x, x + columns) of a row, for kernels of known width: a column of the source is loaded once for all results that meet it. Each
// result is summed in the order of the taps. `inside`: all columns that they meet are.
template <int columns, int kernel, int stride, bool inside>
HWY_INLINE void sum_taps(const Row& r, int64_t x) {
  constexpr int width = (columns - 1) * stride + kernel;
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[columns], weight[kernel];
  const auto start = r.bias ? r.channels.load(r.bias) : hn::Zero(d);
  HWY_UNROLL(8)
  for (int i = 0; i < columns; ++i) sums[i] = start;
  const int64_t down = r.g.y.dilation * r.source_row, column = x * stride - r.g.x.padding;
  const float *from = r.from + r.y_begin * down + column * r.source_column, *weights = r.weights + r.y_begin * kernel * kLanes;
  for (int64_t y = r.y_begin; y < r.y_end; ++y, from += down, weights += kernel * kLanes) {
    HWY_UNROLL(8)
    for (int k = 0; k < kernel; ++k) weight[k] = hn::LoadU(d, weights + k * kLanes);
    const float* at = from;
    HWY_UNROLL(24)
    for (int j = 0; j < width; ++j, at += r.source_column) {
      if (!inside && uint64_t(column + j) >= uint64_t(r.g.x.in)) continue;
      const auto value = r.channels.load(at);
      HWY_UNROLL(8)
      for (int k = 0; k < kernel; ++k)
        if (j >= k && (j - k) % stride == 0 && (j - k) / stride < columns)
          sums[(j - k) / stride] = hn::MulAdd(weight[k], value, sums[(j - k) / stride]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < columns; ++i) r.channels.store(sums[i], r.to + (x + i) * r.to_column);
}

template <int columns, int kernel, int stride>
HWY_INLINE void sum_taps(const Row& r, int64_t x) {
  const int64_t first = x * stride - r.g.x.padding, last = first + (columns - 1) * stride + kernel;
  if (first >= 0 && last <= r.g.x.in) sum_taps<columns, kernel, stride, true>(r, x);
  else sum_taps<columns, kernel, stride, false>(r, x);
}
template <int kernel, int stride>
void sum_row(const Row& r) {
  const int64_t count = r.g.x.out;
  int64_t x = 0;
  if (count % 8 != 0 && count % 7 == 0)  // the planes of most networks
    for (; x < count; x += 7) sum_taps<7, kernel, stride>(r, x);
  for (; x + 8 <= count; x += 8) sum_taps<8, kernel, stride>(r, x);
  if (count - x >= 4) sum_taps<4, kernel, stride>(r, x), x += 4;
  if (count - x >= 2) sum_taps<2, kernel, stride>(r, x), x += 2;
  if (count - x >= 1) sum_taps<1, kernel, stride>(r, x);
}

// Any kernel.
void sum_any_row(const Row& r) {
  const hn::ScalableTag<float> d;
  const ConvAxis& axis = r.g.x;
  for (int64_t x = 0; x < axis.out; ++x) {
    auto sum = r.bias ? r.channels.load(r.bias) : hn::Zero(d);
    for (int64_t y = r.y_begin; y < r.y_end; ++y)
      for (int64_t k = 0; k < axis.kernel; ++k) {
        const int64_t column = axis.position(x, k);
        if (uint64_t(column) >= uint64_t(axis.in)) continue;
        const auto value = r.channels.load(r.from + y * r.g.y.dilation * r.source_row + column * r.source_column);
        sum = hn::MulAdd(hn::LoadU(d, r.weights + (y * axis.kernel + k) * kLanes), value, sum);
      }
    r.channels.store(sum, r.to + x * r.to_column);
  }
}

using SumRow = void (*)(const Row&);
SumRow sum_function(const ConvAxis& x) {
  if (x.dilation != 1 || x.stride > 2) return sum_any_row;
  const bool one = x.stride == 1;
  switch (x.kernel) {
    case 3:
      return one ? sum_row<3, 1> : sum_row<3, 2>;
    case 5:
      return one ? sum_row<5, 1> : sum_row<5, 2>;
    case 7:
      return one ? sum_row<7, 1> : sum_row<7, 2>;
    default:
      return sum_any_row;
  }
}

// Rows [begin, end) of the results of an image.
void convolve_rows(const ConvGeometry& g, const Images<const float>& source, const float* packed, const float* bias,
    const Images<float>& result, int64_t image, int64_t begin, int64_t end) {
  const SumRow sum = sum_function(g.x);
  for (int64_t c = 0; c < g.groups; c += kLanes, packed += g.taps() * kLanes) {
    const Channels channels(std::min(kLanes, g.groups - c));
    for (int64_t y = begin; y < end; ++y) {
      const int64_t top = g.y.position(y, 0);
      const int64_t y_begin = top < 0 ? std::min(g.y.kernel, divided_up(-top, g.y.dilation)) : 0;
      const int64_t y_end = std::clamp(divided_up(g.y.in - top, g.y.dilation), y_begin, g.y.kernel);
      sum({g, channels, source.data + image * source.image + c + top * source.row, source.row, source.column, y_begin, y_end, packed,
          bias ? bias + c : nullptr, result.data + image * result.image + c + y * result.row, result.column});
    }
  }
}

void convolve(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  const int64_t row_bytes = g.x.in * g.groups * int64_t(sizeof(float)), row_work = std::max<int64_t>(1, g.x.out * g.groups * g.taps());
  const int64_t fitting = std::max<int64_t>(1, kTaskBytes / (row_bytes * g.y.stride)), worth = divided_up(kTaskWork, row_work);
  const int64_t blocks = divided_up(g.y.out, std::min({fitting, worth, g.y.out})), rows = divided_up(g.y.out, blocks);
  parallel_for(g.batch * blocks, std::max<int64_t>(1, kTaskWork / (rows * row_work)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t image = i / blocks, begin = std::min(g.y.out, i % blocks * rows), end = std::min(g.y.out, begin + rows);
      if (begin == end) continue;
      convolve_rows(g, source, packed, bias, result, image, begin, end);
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
