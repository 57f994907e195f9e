// Depthwise convolution with channels in vectors: for rows so short that columns would leave vectors half empty.
#include "pyburn/backends/cpu/depthwise.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/depthwise_channels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <vector>

#include "pyburn/backends/cpu/gemm-inl.h"
#include "pyburn/backends/cpu/pack-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kStripBytes = 96 * 1024;  // of the source at a time
constexpr int64_t kTasks = 8;

// Rows of results whose part of the source, `channels` at a time, stays in the cache.
int64_t strip_rows(const PlanAxis& y, int64_t width, int64_t channels, int64_t element_size) {
  int64_t rows = 1;
  while (rows < y.result) {
    const auto reach = y.reach(0, rows + 1);
    if ((reach.last - reach.first + 1) * width * channels * element_size > kStripBytes) break;
    ++rows;
  }
  return rows;
}

// A tap of the kernel: where it meets the strip, and where its weights lie.
struct Tap {
  int64_t source, weight;
};

// A strip with its padding, the channels of a pixel next to each other and `pitch` elements from those of the next. What lies inside of the
// image is transposed at once: its rows follow each other.
template <class T>
void copy_planes(const T* from, int64_t channels, int64_t pitch, ConvAxis::Range rows, ConvAxis::Range columns, int64_t height,
    int64_t width, T* transposed, T* to) {
  const int64_t top = std::clamp<int64_t>(0, rows.first, rows.last), bottom = std::clamp(height, top, rows.last);
  const int64_t row_size = (columns.last - columns.first) * pitch;
  transpose(channels, (bottom - top) * width, from + top * width, height * width, transposed, pitch);
  const int64_t left = std::clamp<int64_t>(0, columns.first, columns.last), right = std::clamp(width, left, columns.last);
  std::fill_n(to, (top - rows.first) * row_size, T(0));
  T* line = to + (top - rows.first) * row_size;
  for (int64_t y = top; y < bottom; ++y, line += row_size) {
    std::fill_n(line, (left - columns.first) * pitch, T(0));
    std::copy_n(transposed + ((y - top) * width + left) * pitch, (right - left) * pitch, line + (left - columns.first) * pitch);
    std::fill(line + (right - columns.first) * pitch, line + row_size, T(0));
  }
  std::fill_n(line, (rows.last - bottom) * row_size, T(0));
}

// --- forward, and the gradient of the input ---

// `pixels` results that are result_step apart, of windows that are source_step apart.
template <int pixels, class T>
void sum_taps(const Tap* taps, int64_t count, const T* weights, const T* source, int64_t source_step, const T* start, T* result,
    int64_t result_step) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> sum[pixels];
  HWY_UNROLL(8)
  for (int p = 0; p < pixels; ++p) sum[p] = hn::LoadU(d, start);
  for (int64_t t = 0; t < count; ++t) {
    const auto weight = hn::LoadU(d, weights + taps[t].weight);
    const T* from = source + taps[t].source;
    HWY_UNROLL(8)
    for (int p = 0; p < pixels; ++p) sum[p] = hn::MulAdd(weight, hn::LoadU(d, from + p * source_step), sum[p]);
  }
  HWY_UNROLL(8)
  for (int p = 0; p < pixels; ++p) hn::StoreU(sum[p], d, result + p * result_step);
}

constexpr int kPixels = 8;
template <class T>
auto sum_taps_for(int64_t pixels) {
  static constexpr auto table = []<int... p>(std::integer_sequence<int, p...>) { return std::array{sum_taps<p + 1, T>...}; }
  (std::make_integer_sequence<int, kPixels>());
  return table[size_t(pixels - 1)];
}

template <class T>
void convolve_of(const ConvPlan& plan, const T* source, const T* weight, const T* bias, T* result) {
  constexpr int64_t lanes = kVector<T>;
  const PlanAxis &y = plan.y, &x = plan.x;
  const auto columns = x.reach(0, x.result);
  const int64_t width = columns.last - columns.first, blocks = divided_up(plan.groups, lanes), taps = plan.taps();
  const int64_t rows = strip_rows(y, width, lanes, sizeof(T)), plane = y.result * x.result, weights_size = (taps + 1) * lanes;
  ScratchBuffer<T> weights(blocks * weights_size);  // the taps of each block of channels, then its bias
  std::fill_n(weights.data(), blocks * weights_size, T(0));
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t channel = block * lanes, channels = std::min(lanes, plan.groups - channel);
    T* to = weights.data() + block * weights_size;
    transpose(channels, taps, weight + channel * taps, taps, to, lanes);
    if (bias) std::copy_n(bias + channel, channels, to + taps * lanes);
  }
  std::vector<Tap> list;          // of all phases
  std::vector<int64_t> first{0};  // tap of each phase
  std::vector<int64_t> column;    // the first of each phase of columns
  for (const auto& phase : plan.phases) {
    for (const ConvPlan::Tap& tap : phase) list.push_back({(tap.y * width + tap.x) * lanes, tap.index * lanes});
    first.push_back(int64_t(list.size()));
  }
  column.assign(size_t(x.phases()), x.result);
  for (int64_t j = x.result - 1; j >= 0; --j) column[size_t(x.phase(j))] = j;
  parallel_for(plan.images * blocks, std::max<int64_t>(1, (1 << 16) / (plane * lanes)), [&](int64_t begin, int64_t end) {
    const auto most = y.reach(0, rows);
    ScratchBuffer<T> strip((most.last - most.first + 1) * width * lanes + lanes), tile(rows * x.result * lanes),
        transposed(y.source * x.source * lanes);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t image = task / blocks, channel = task % blocks * lanes, channels = std::min(lanes, plan.groups - channel);
      const T* own = weights.data() + task % blocks * weights_size;
      const T* from = source + (image * plan.groups + channel) * y.source * x.source;
      for (int64_t row = 0; row < y.result; row += rows) {
        const int64_t row_end = std::min(y.result, row + rows);
        const auto reach = y.reach(row, row_end);
        copy_planes(from, channels, lanes, reach, columns, y.source, x.source, transposed.data(), strip.data());
        const int64_t step = x.phases(), source_step = (x.transposed ? 1 : x.stride) * lanes;
        for (int64_t i = row; i < row_end; ++i)
          for (int64_t phase = 0; phase < step; ++phase) {
            const size_t at = size_t(y.phase(i) * step + phase);
            const int64_t j = column[size_t(phase)], count = j < x.result ? divided_up(x.result - j, step) : 0;
            const T* window = strip.data() + ((y.base(i) - reach.first) * width + x.base(j) - columns.first) * lanes;
            T* to = tile.data() + ((i - row) * x.result + j) * lanes;
            for (int64_t k = 0; k < count; k += kPixels)
              sum_taps_for<T>(std::min<int64_t>(kPixels, count - k))(list.data() + first[at], first[at + 1] - first[at], own,
                  window + k * source_step, source_step, own + taps * lanes, to + k * step * lanes, step * lanes);
          }
        transpose((row_end - row) * x.result, channels, tile.data(), lanes,
            result + (image * plan.groups + channel) * plane + row * x.result, plane);
      }
    }
  });
}

// --- the gradient of the weights ---

// sums[tap] += x * dy over the rows of a strip, for `taps` taps from `first` on; partial sums of a strip are joined in double.
template <int taps, class T>
void weight_taps(
    const ConvGeometry& g, int64_t rows, int64_t channels, const T* x, int64_t width, const T* dy, int64_t first, double* sums) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  hn::Vec<decltype(d)> sum[taps];
  int64_t offsets[taps];
  for (int t = 0; t < taps; ++t) {
    sum[t] = hn::Zero(d);
    offsets[t] = ((first + t) / g.x.kernel * g.y.dilation * width + (first + t) % g.x.kernel * g.x.dilation) * channels;
  }
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t c = 0; c < g.x.out; ++c, dy += channels) {
      const auto gradient = hn::LoadU(d, dy);
      const T* window = x + (y * g.y.stride * width + c * g.x.stride) * channels;
      for (int t = 0; t < taps; ++t) sum[t] = hn::MulAdd(gradient, hn::LoadU(d, window + offsets[t]), sum[t]);
    }
  HWY_ALIGN T last[lanes];
  for (int t = 0; t < taps; ++t) {
    hn::Store(sum[t], d, last);
    for (int64_t l = 0; l < lanes; ++l) sums[(first + t) * lanes + l] += double(last[l]);
  }
}

template <class T>
void weight_of(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  constexpr int64_t lanes = kVector<T>;
  const int64_t blocks = divided_up(g.groups, lanes), taps = g.taps(), parts = std::clamp<int64_t>(kTasks / blocks, 1, g.batch);
  const ConvAxis::Range columns{-g.x.padding, g.x.position(g.x.out - 1, g.x.kernel - 1) + 1};
  const int64_t width = columns.last - columns.first, size = taps * lanes;
  const ConvPlan plan = ConvPlan::forward(g);
  const int64_t rows = strip_rows(plan.y, width, lanes, sizeof(T));
  ScratchBuffer<double> sums(parts * blocks * size);
  std::fill_n(sums.data(), parts * blocks * size, 0.0);
  parallel_for(parts * blocks, 1, [&](int64_t begin, int64_t end) {
    const auto most = plan.y.reach(0, rows);
    ScratchBuffer<T> strip((most.last - most.first) * width * lanes + lanes), gradient(rows * g.x.out * lanes + lanes),
        transposed(g.plane() * lanes);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task / blocks, channel = task % blocks * lanes, channels = std::min(lanes, g.groups - channel);
      double* sum = sums.data() + task * size;
      for (int64_t image = g.batch * part / parts; image < g.batch * (part + 1) / parts; ++image)
        for (int64_t row = 0; row < g.y.out; row += rows) {
          const int64_t row_end = std::min(g.y.out, row + rows), at = image * g.groups + channel;
          copy_planes(
              x + at * g.plane(), channels, channels, plan.y.reach(row, row_end), columns, g.y.in, g.x.in, transposed.data(), strip.data());
          transpose(channels, (row_end - row) * g.x.out, dy + at * g.pixels() + row * g.x.out, g.pixels(), gradient.data(), channels);
          int64_t tap = 0;
          for (; tap + 9 <= taps; tap += 9) weight_taps<9>(g, row_end - row, channels, strip.data(), width, gradient.data(), tap, sum);
          for (; tap < taps; ++tap) weight_taps<1>(g, row_end - row, channels, strip.data(), width, gradient.data(), tap, sum);
        }
    }
  });
  for (int64_t c = 0; c < g.groups; ++c)
    for (int64_t t = 0; t < taps; ++t) {
      double total = 0;
      for (int64_t part = 0; part < parts; ++part) total += sums.data()[(part * blocks + c / lanes) * size + t * lanes + c % lanes];
      dw[c * taps + t] = T(total);
    }
}

// One set of functions per element type, so that each is exported once.
void convolve_float(const ConvPlan& plan, const float* x, const float* w, const float* b, float* y) { convolve_of(plan, x, w, b, y); }
void convolve_double(const ConvPlan& plan, const double* x, const double* w, const double* b, double* y) { convolve_of(plan, x, w, b, y); }
void weight_float(const ConvGeometry& g, const float* x, const float* dy, float* dw) { weight_of(g, x, dy, dw); }
void weight_double(const ConvGeometry& g, const double* x, const double* dy, double* dw) { weight_of(g, x, dy, dw); }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(convolve_float);
HWY_EXPORT(convolve_double);
HWY_EXPORT(weight_float);
HWY_EXPORT(weight_double);

template <>
void convolve_depthwise_channels(const ConvPlan& plan, const float* x, const float* w, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(convolve_float)(plan, x, w, b, y);
}
template <>
void convolve_depthwise_channels(const ConvPlan& plan, const double* x, const double* w, const double* b, double* y) {
  HWY_DYNAMIC_DISPATCH(convolve_double)(plan, x, w, b, y);
}
template <>
void convolve_depthwise_channels_weight(const ConvGeometry& g, const float* x, const float* dy, float* dw) {
  HWY_DYNAMIC_DISPATCH(weight_float)(g, x, dy, dw);
}
template <>
void convolve_depthwise_channels_weight(const ConvGeometry& g, const double* x, const double* dy, double* dw) {
  HWY_DYNAMIC_DISPATCH(weight_double)(g, x, dy, dw);
}

}  // namespace pyburn::cpu
#endif
