// Regions of images: non-maximum suppression of boxes, and regions brought to one size.
#include "pyburn/ops/regions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Compares each box, best first, with those that are kept so far.
template <class T>
std::vector<int64_t> kept_boxes(const T* boxes, const T* scores, int64_t n, double threshold) {
  std::vector<int64_t> order(static_cast<size_t>(n)), kept;
  std::iota(order.begin(), order.end(), 0);
  auto rank = [&](int64_t i) { return std::isnan(scores[i]) ? std::numeric_limits<T>::infinity() : scores[i]; };  // NaN comes first
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return rank(a) > rank(b); });
  struct Box {
    T x1, y1, x2, y2, area;
  };
  std::vector<Box> chosen;
  InterruptTicker ticker;
  for (const int64_t i : order) {
    const T* p = boxes + 4 * i;
    const Box b{p[0], p[1], p[2], p[3], (p[2] - p[0]) * (p[3] - p[1])};
    ticker.work(int64_t(chosen.size()) + 1);
    const bool dropped = std::any_of(chosen.begin(), chosen.end(), [&](const Box& o) {
      const T width = std::max(T(0), std::min(o.x2, b.x2) - std::max(o.x1, b.x1));
      const T height = std::max(T(0), std::min(o.y2, b.y2) - std::max(o.y1, b.y1));
      const T common = width * height;
      return double(common / (o.area + b.area - common)) > threshold;  // of boxes without an area NaN: these stay
    });
    if (dropped) continue;
    chosen.push_back(b);
    kept.push_back(i);
  }
  return kept;
}

void nms(const Nms& a, Inputs in, Outputs out) {
  const TensorHandle &boxes_ = *in[0], &scores_ = *in[1];
  require<DTypeError>(is_floating(boxes_.dtype()) && is_floating(scores_.dtype()), "expected a floating dtype: got {}, {}", boxes_.dtype(),
      scores_.dtype());
  require(boxes_.rank() == 2 && boxes_.shape()[1] == 4, "expected boxes (N, 4): got {}", boxes_.shape());
  require(
      scores_.rank() == 1 && scores_.shape()[0] == boxes_.shape()[0], "expected scores ({},): got {}", boxes_.shape()[0], scores_.shape());
  std::vector<int64_t> kept;
  auto find = [&]<class T>(T*) {
    kept = kept_boxes(PlainInput<T>(boxes_).data(), PlainInput<T>(scores_).data(), boxes_.shape()[0], a.iou_threshold);
  };
  const bool wide = boxes_.dtype() == DType::float64 || scores_.dtype() == DType::float64;
  wide ? find(static_cast<double*>(nullptr)) : find(static_cast<float*>(nullptr));
  const Shape shape{int64_t(kept.size())};
  out[0] = make_tensor(boxes_.device(), DType::int64, contiguous_layout(shape), cpu_backend().allocate(DType::int64, shape.numel()));
  std::copy(kept.begin(), kept.end(), out[0].data<int64_t>());
}

// --- roi_align ---

constexpr int64_t kChannelsAtOnce = 16, kMostSamples = 1 << 20;

// The four pixels around a sample, and how much each counts.
template <class T>
struct Tap {
  int64_t place[4];
  T weight[4];
};

template <class T>
Tap<T> tap_at(T y, T x, int64_t height, int64_t width) {
  if (!(y >= -1 && y <= T(height) && x >= -1 && x <= T(width))) return {};
  auto along = [](T at, int64_t extent, int64_t& low, int64_t& high) {
    at = std::max(at, T(0));
    low = int64_t(at);
    if (low < extent - 1) return high = low + 1, at - T(low);
    low = high = extent - 1;
    return T(0);
  };
  int64_t y0, y1, x0, x1;
  const T fy = along(y, height, y0, y1), fx = along(x, width, x0, x1);
  return {
      {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1}, {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx}};
}

// Where one region is sampled: its image, and for each bin the same number of taps.
template <class T>
struct RegionTaps {
  int64_t image = 0, per_bin = 0;
  std::vector<Tap<T>> taps;

  RegionTaps(const RoiAlign& a, const T* box, int64_t images, int64_t height, int64_t width, int64_t rows, int64_t columns) {
    require<ValueError>(
        box[0] >= 0 && box[0] < T(images), "a box names an image that does not exist: got {} of {}", double(box[0]), images);
    image = int64_t(box[0]);
    const T scale = T(a.spatial_scale), shift = a.aligned ? T(0.5) : T(0);
    const T x = box[1] * scale - shift, y = box[2] * scale - shift;
    T w = box[3] * scale - shift - x, h = box[4] * scale - shift - y;
    if (!a.aligned) w = std::max(w, T(1)), h = std::max(h, T(1));
    const T bin_h = h / T(rows), bin_w = w / T(columns);
    auto samples = [&](T bin) {
      if (a.sampling_ratio > 0) return a.sampling_ratio;
      require<ValueError>(!(bin > T(kMostSamples)), "a box is too large: got bins of {} pixels", double(bin));
      return bin > 0 ? int64_t(std::ceil(bin)) : int64_t(0);
    };
    const int64_t ny = samples(bin_h), nx = samples(bin_w);
    require<ValueError>(ny == 0 || nx <= kMostSamples / ny, "too many samples of a bin: got {} times {}", ny, nx);
    per_bin = height > 0 && width > 0 ? ny * nx : 0;
    if (per_bin == 0) return;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t i = 0; i < ny; ++i)
          for (int64_t j = 0; j < nx; ++j)
            taps.push_back(tap_at(
                y + T(r) * bin_h + (T(i) + T(0.5)) * bin_h / T(ny), x + T(c) * bin_w + (T(j) + T(0.5)) * bin_w / T(nx), height, width));
  }
};

template <class T>
void roi_align(const RoiAlign& a, const TensorHandle& x_, const TensorHandle& boxes_, TensorHandle& y_) {
  const PlainInput<T> x(x_), boxes(boxes_);
  const PlainOutput<T> y(y_);
  if (y.numel() == 0) return;
  const int64_t images = x.shape()[0], channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  const int64_t rows = a.size[0], columns = a.size[1], bins = rows * columns, regions = y.shape()[0];
  const int64_t groups = (channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
  parallel_for(regions * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t region = i / groups, first = i % groups * kChannelsAtOnce;
      const RegionTaps<T> taps(a, boxes.data() + 5 * region, images, height, width, rows, columns);
      for (int64_t c = first; c < std::min(channels, first + kChannelsAtOnce); ++c) {
        const T* plane = x.data() + (taps.image * channels + c) * height * width;
        T* into = y.data() + (region * channels + c) * bins;
        const Tap<T>* tap = taps.taps.data();
        for (int64_t b = 0; b < bins; ++b) {
          T total = 0;
          for (int64_t s = 0; s < taps.per_bin; ++s, ++tap)
            for (int k = 0; k < 4; ++k) total += tap->weight[k] * plane[tap->place[k]];
          into[b] = total / T(std::max<int64_t>(1, taps.per_bin));
        }
      }
    }
  });
}

template <class T>
void roi_align_input(const RoiAlign& a, const TensorHandle& dy_, const TensorHandle& boxes_, TensorHandle& dx_) {
  const PlainInput<T> dy(dy_), boxes(boxes_);
  const PlainOutput<T> dx(dx_);
  std::fill_n(dx.data(), dx.numel(), T(0));
  if (dx.numel() == 0 || dy_.numel() == 0) return;
  const int64_t images = a.size[0], channels = a.size[1], height = a.size[2], width = a.size[3];
  const int64_t regions = dy.shape()[0], rows = dy.shape()[2], columns = dy.shape()[3], bins = rows * columns;
  const int64_t groups = (channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
  parallel_for(groups, 1, [&](int64_t begin, int64_t end) {  // regions overlap: a thread has channels of its own
    for (int64_t region = 0; region < regions; ++region) {
      const RegionTaps<T> taps(a, boxes.data() + 5 * region, images, height, width, rows, columns);
      for (int64_t c = begin * kChannelsAtOnce; c < std::min(channels, end * kChannelsAtOnce); ++c) {
        T* plane = dx.data() + (taps.image * channels + c) * height * width;
        const T* from = dy.data() + (region * channels + c) * bins;
        const Tap<T>* tap = taps.taps.data();
        for (int64_t b = 0; b < bins; ++b) {
          const T share = from[b] / T(std::max<int64_t>(1, taps.per_bin));
          for (int64_t s = 0; s < taps.per_bin; ++s, ++tap)
            for (int k = 0; k < 4; ++k) plane[tap->place[k]] += tap->weight[k] * share;
        }
      }
    }
  });
}

}  // namespace

void register_regions(KernelTable& kernels) {
  kernels.add_for_all<nms>(op::nms);
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<roi_align<float>>(op::roi_align, single);
  kernels.add<roi_align<double>>(op::roi_align, DType::float64);
  kernels.add<roi_align_input<float>>(op::roi_align_input, single);
  kernels.add<roi_align_input<double>>(op::roi_align_input, DType::float64);
}

}  // namespace pyburn::cpu
