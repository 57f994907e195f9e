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
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTaskWork = 1 << 18;      // multiply-adds that are worth a task
constexpr int64_t kTaskBytes = 256 * 1024;  // of the source of a task, which meets one vector of channels after the other: it stays in L2
constexpr int kMostColumns = 8;             // sums enough to keep the processor busy
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

// Results side by side, from taps [y_begin, y_end) of the kernel down.
struct SumsOfTaps {
  const ConvGeometry& g;
  Images<const float> source;
  const float* from;        // the place of the first tap of the first result, which may be outside
  int64_t column;           // its column; those of the source are [0, g.x.in)
  int64_t y_begin, y_end;
  const float *weights, *bias;
  float* to;
  int64_t to_column;
};

// Kernels of known width: a column of the source is loaded once for all results that meet it. Each result is summed in the order of the
// taps.
template <int columns, int kernel, int stride>
void sum_taps(const SumsOfTaps& s, const Channels& channels) {
  constexpr int width = (columns - 1) * stride + kernel;
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[columns], weight[kernel];
  const auto start = s.bias ? channels.load(s.bias) : hn::Zero(d);
  HWY_UNROLL(8)
  for (int i = 0; i < columns; ++i) sums[i] = start;
  const float* from = s.from + s.y_begin * s.g.y.dilation * s.source.row;
  const float* weights = s.weights + s.y_begin * kernel * kLanes;
  for (int64_t y = s.y_begin; y < s.y_end; ++y, from += s.g.y.dilation * s.source.row, weights += kernel * kLanes) {
    HWY_UNROLL(8)
    for (int k = 0; k < kernel; ++k) weight[k] = hn::LoadU(d, weights + k * kLanes);
    const float* at = from;
    HWY_UNROLL(24)
    for (int j = 0; j < width; ++j, at += s.source.column) {
      if (uint64_t(s.column + j) >= uint64_t(s.g.x.in)) continue;
      const auto x = channels.load(at);
      HWY_UNROLL(8)
      for (int k = 0; k < kernel; ++k)
        if (j >= k && (j - k) % stride == 0 && (j - k) / stride < columns)
          sums[(j - k) / stride] = hn::MulAdd(weight[k], x, sums[(j - k) / stride]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < columns; ++i) channels.store(sums[i], s.to + i * s.to_column);
}

// Any kernel.
void sum_any_taps(const SumsOfTaps& s, int64_t columns, const Channels& channels) {
  const hn::ScalableTag<float> d;
  const ConvAxis& axis = s.g.x;
  for (int64_t i = 0; i < columns; ++i) {
    auto sum = s.bias ? channels.load(s.bias) : hn::Zero(d);
    for (int64_t y = s.y_begin; y < s.y_end; ++y)
      for (int64_t k = 0; k < axis.kernel; ++k) {
        const int64_t j = i * axis.stride + k * axis.dilation;
        if (uint64_t(s.column + j) >= uint64_t(axis.in)) continue;
        const auto x = channels.load(s.from + y * s.g.y.dilation * s.source.row + j * s.source.column);
        sum = hn::MulAdd(hn::LoadU(d, s.weights + (y * axis.kernel + k) * kLanes), x, sum);
      }
    channels.store(sum, s.to + i * s.to_column);
  }
}

using SumTaps = void (*)(const SumsOfTaps&, const Channels&);
using SumTable = std::array<SumTaps, kMostColumns>;
template <int kernel, int stride>
const SumTable& table_of() {
  static constexpr SumTable table = []<int... c>(std::integer_sequence<int, c...>) {
    return SumTable{sum_taps<c + 1, kernel, stride>...};
  }
  (std::make_integer_sequence<int, kMostColumns>());
  return table;
}
// Null: any kernel.
const SumTable* table_for(const ConvAxis& x) {
  if (x.dilation != 1 || x.stride > 2) return nullptr;
  const bool one = x.stride == 1;
  switch (x.kernel) {
    case 3:
      return one ? &table_of<3, 1>() : &table_of<3, 2>();
    case 5:
      return one ? &table_of<5, 1>() : &table_of<5, 2>();
    case 7:
      return one ? &table_of<7, 1>() : &table_of<7, 2>();
    default:
      return nullptr;
  }
}

// Rows [begin, end) of the results of an image.
void convolve_rows(const ConvGeometry& g, const Images<const float>& source, const float* packed, const float* bias,
    const Images<float>& result, int64_t image, int64_t begin, int64_t end) {
  const SumTable* table = table_for(g.x);
  const int64_t parts = divided_up(g.x.out, kMostColumns);
  for (int64_t c = 0; c < g.groups; c += kLanes, packed += g.taps() * kLanes) {
    const Channels channels(std::min(kLanes, g.groups - c));
    const float* from = source.data + image * source.image + c;
    float* to = result.data + image * result.image + c;
    for (int64_t y = begin; y < end; ++y) {
      const int64_t top = y * g.y.stride - g.y.padding;
      const int64_t y_begin = top < 0 ? std::min(g.y.kernel, divided_up(-top, g.y.dilation)) : 0;
      const int64_t y_end = std::clamp(divided_up(g.y.in - top, g.y.dilation), y_begin, g.y.kernel);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t x = g.x.out * part / parts, columns = g.x.out * (part + 1) / parts - x, left = x * g.x.stride - g.x.padding;
        const SumsOfTaps s{g, source, from + top * source.row + left * source.column, left, y_begin, y_end, packed, bias ? bias + c : nullptr,
            to + y * result.row + x * result.column, result.column};
        if (table) (*table)[size_t(columns - 1)](s, channels);
        else sum_any_taps(s, columns, channels);
      }
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
