// softmax, log_softmax and their gradients: along contiguous rows, or down columns a strip at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/softmax.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/math/vector-inl.h"
#include "pyburn/backends/cpu/streaming-inl.h"
#include "pyburn/ops/softmax.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kStrip = 128;
constexpr int64_t kDear = 4096;  // elements per claimed chunk: exp makes them dear

// exp(x - largest) of a row of floats, and their sum; written to y unless that is nullptr. A NaN need not be the largest: it reaches the
// sum, and with that every element.
struct Exponentials {
  float largest;
  double sum;
};
Exponentials exponentials_of(const float* x, float* y, int64_t n) {
  const FloatTag d;
  constexpr int64_t lanes = HWY_LANES(float);
  const auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto load_rest = [&](int64_t at) HWY_ATTR {  // lanes past the end of the row contribute nothing
    HWY_ALIGN float rest[lanes];
    hn::Store(none, d, rest);
    std::copy_n(x + at, n - at, rest);
    return hn::Load(d, rest);
  };
  const int64_t whole = n / lanes * lanes;
  auto a = none, b = none;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + lanes));
  }
  if (i < whole) a = hn::Max(a, hn::LoadU(d, x + i));
  if (whole < n) b = hn::Max(b, load_rest(whole));
  const auto shift = hn::MaxOfLanes(d, hn::Max(a, b));
  auto power = [&](FloatVector v) HWY_ATTR { return exp_of(hn::Sub(v, shift)); };
  double sum = 0;
  for (int64_t begin = 0; begin < whole; begin += 2 * kTile) {
    const int64_t end = std::min(whole, begin + 2 * kTile);
    auto first = hn::Zero(d), second = hn::Zero(d);
    for (i = begin; i + 2 * lanes <= end; i += 2 * lanes) {
      const auto u = power(hn::LoadU(d, x + i)), v = power(hn::LoadU(d, x + i + lanes));
      first = hn::Add(first, u);
      second = hn::Add(second, v);
      if (y) hn::StoreU(u, d, y + i), hn::StoreU(v, d, y + i + lanes);
    }
    if (i < end) {
      const auto u = power(hn::LoadU(d, x + i));
      first = hn::Add(first, u);
      if (y) hn::StoreU(u, d, y + i);
    }
    sum += double(hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second))));
  }
  if (whole < n) {
    HWY_ALIGN float rest[lanes];
    hn::Store(power(load_rest(whole)), d, rest);
    for (int64_t k = 0; k < n - whole; ++k) sum += double(rest[k]);
    if (y) std::copy_n(rest, n - whole, y + whole);
  }
  return {hn::GetLane(shift), sum};
}

// A few vectors of columns, down all rows: the largest, the sums, and the result. A result that is written around the caches is computed
// from x again, which is in the cache, instead of being kept on the way.
template <bool logarithm, int vectors>
void columns_of(const float* x, float* y, int64_t n, int64_t stride, bool streamed) {
  const FloatTag d;
  constexpr int64_t lanes = HWY_LANES(float), kRun = 64;
  FloatVector largest[vectors], last[vectors];
  for (auto& v : largest) v = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (int64_t j = 0; j < n; ++j)
    for (int v = 0; v < vectors; ++v) largest[v] = hn::Max(largest[v], hn::LoadU(d, x + j * stride + v * lanes));
  HWY_ALIGN double sum[vectors * lanes] = {};
  for (int64_t begin = 0; begin < n; begin += kRun) {
    FloatVector run[vectors];
    for (auto& v : run) v = hn::Zero(d);
    for (int64_t j = begin; j < std::min(n, begin + kRun); ++j)
      for (int v = 0; v < vectors; ++v) {
        const auto e = exp_of(hn::Sub(hn::LoadU(d, x + j * stride + v * lanes), largest[v]));
        run[v] = hn::Add(run[v], e);
        if (!logarithm && !streamed) hn::StoreU(e, d, y + j * stride + v * lanes);
      }
    HWY_ALIGN float part[vectors * lanes];
    for (int v = 0; v < vectors; ++v) hn::Store(run[v], d, part + v * lanes);
    for (int64_t i = 0; i < vectors * lanes; ++i) sum[i] += double(part[i]);
  }
  HWY_ALIGN float ends[vectors * lanes];
  for (int64_t i = 0; i < vectors * lanes; ++i) ends[i] = float(logarithm ? std::log(sum[i]) : 1 / sum[i]);
  for (int v = 0; v < vectors; ++v) last[v] = hn::Load(d, ends + v * lanes);
  for (int64_t j = 0; j < n; ++j)
    for (int v = 0; v < vectors; ++v) {
      float* to = y + j * stride + v * lanes;
      const float* from = logarithm || streamed ? x + j * stride + v * lanes : to;
      const auto given = hn::LoadU(d, from);
      if constexpr (logarithm) {
        const auto result = hn::Sub(hn::Sub(given, largest[v]), last[v]);
        streamed ? hn::Stream(result, d, to) : hn::StoreU(result, d, to);
      } else if (streamed) {
        hn::Stream(hn::Mul(exp_of(hn::Sub(given, largest[v])), last[v]), d, to);
      } else {
        hn::StoreU(hn::Mul(given, last[v]), d, to);
      }
    }
}

// y may be x: every loop reads an element before it writes it.
template <class T, bool logarithm>
struct Forward {
  static void row(const float* x, const float*, float* y, int64_t n) {
    const Exponentials e = exponentials_of(x, logarithm ? nullptr : y, n);
    if (logarithm) {
      const float shift = float(std::log(e.sum));
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - e.largest) - shift;
    } else {
      const float scale = float(1 / e.sum);
      for (int64_t i = 0; i < n; ++i) y[i] *= scale;
    }
  }
  static void row(const double* x, const double*, double* y, int64_t n) {
    const double largest = fold_contiguous<Amax>(x, n);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double e = std::exp(x[i] - largest);
      sum += e;
      y[i] = logarithm ? x[i] - largest : e;
    }
    const double last = logarithm ? std::log(sum) : 1 / sum;
    for (int64_t i = 0; i < n; ++i) y[i] = logarithm ? y[i] - last : y[i] * last;
  }
  static void strip(const float* x, const float*, float* y, int64_t n, int64_t stride, int64_t width, bool streamed) {
    constexpr int64_t lanes = HWY_LANES(float);
    int64_t at = 0;
    for (; at + 4 * lanes <= width; at += 4 * lanes) columns_of<logarithm, 4>(x + at, y + at, n, stride, streamed);
    for (; at + lanes <= width; at += lanes) columns_of<logarithm, 1>(x + at, y + at, n, stride, streamed);
    if (at < width) columns(x + at, y + at, n, stride, width - at);
  }
  static void strip(const double* x, const double*, double* y, int64_t n, int64_t stride, int64_t width, bool) {
    columns(x, y, n, stride, width);
  }
  static void columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width) {
    HWY_ALIGN T largest[kStrip], last[kStrip];
    HWY_ALIGN double sum[kStrip];
    std::fill_n(largest, width, Amax::first<T>());
    std::fill_n(sum, width, 0.0);
    fold_block<Amax>(x, 1, width, stride, n, largest);
    for (int64_t j = 0; j < n; ++j) {
      T* e = logarithm ? last : y + j * stride;
      exp_minus(x + j * stride, largest, e, width);
      for (int64_t i = 0; i < width; ++i) sum[i] += double(e[i]);
    }
    for (int64_t i = 0; i < width; ++i) last[i] = T(logarithm ? std::log(sum[i]) : 1 / sum[i]);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < width; ++i) {
        T& to = y[j * stride + i];
        to = logarithm ? (x[j * stride + i] - largest[i]) - last[i] : to * last[i];
      }
  }
};

// dx = y (dy - sum of dy y), or dy - exp(y) (sum of dy) for the logarithm.
template <class T, bool logarithm>
struct Backward {
  static T entering(T dy, T y) { return logarithm ? dy : dy * y; }
  static T leaving(T dy, T y, T sum) { return logarithm ? dy - exp_of(y) * sum : y * (dy - sum); }
  static void row(const T* dy, const T* y, T* dx, int64_t n) {
    double sum = 0;
    HWY_ALIGN T tile[kTile];
    for (int64_t begin = 0; begin < n; begin += kTile) {
      const int64_t m = std::min(kTile, n - begin);
      for (int64_t i = 0; i < m; ++i) tile[i] = entering(dy[begin + i], y[begin + i]);
      sum += double(fold_contiguous<InRuns<Sum>>(tile, m));
    }
    for (int64_t i = 0; i < n; ++i) dx[i] = leaving(dy[i], y[i], T(sum));
  }
  static void strip(const T* dy, const T* y, T* dx, int64_t n, int64_t stride, int64_t width, bool) {
    HWY_ALIGN double sum[kStrip];
    std::fill_n(sum, width, 0.0);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < width; ++i) sum[i] += double(entering(dy[j * stride + i], y[j * stride + i]));
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < width; ++i) dx[j * stride + i] = leaving(dy[j * stride + i], y[j * stride + i], T(sum[i]));
  }
};

template <class T, class Kernel>
void along(int64_t dim, const TensorHandle& x_, const TensorHandle& second_, const TensorHandle& out) {
  constexpr DType dtype = dtype_of<T>;
  if (x_.numel() == 0) return;
  const TensorHandle x = plain(x_, dtype), second = plain(second_, dtype);
  const PlainTarget y(out, dtype);
  const Axis axis(x.shape(), dim);
  const int64_t n = axis.extent, inner = axis.inner;
  if (inner == 1) {
    const RowWriter<T> rows(y.template data<T>(), axis.outer, n);
    parallel_for(axis.outer, std::max<int64_t>(1, kDear / n), [&](int64_t begin, int64_t end) {
      rows.write(begin, end, [&](int64_t i, T* to) { Kernel::row(x.data<T>() + i * n, second.data<T>() + i * n, to, n); });
    });
  } else {
    const int64_t width = std::clamp<int64_t>(inner / 4 / 64 * 64, 64, kStrip), strips = (inner + width - 1) / width;
    const bool streamed =
        x.numel() * int64_t(sizeof(T)) >= kStreamed && inner % 16 == 0 && reinterpret_cast<uintptr_t>(y.template data<T>()) % 64 == 0;
    parallel_for(axis.outer * strips, std::max<int64_t>(1, kDear / n / std::min(inner, width)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % strips * width, at = i / strips * n * inner + column;
        const int64_t columns = std::min(width, inner - column);
        Kernel::strip(x.data<T>() + at, second.data<T>() + at, y.template data<T>() + at, n, inner, columns, streamed);
      }
      if (streamed) hwy::FlushStream();
    });
  }
  y.finish();
}

template <class T, bool logarithm>
void softmax(const Softmax& a, const TensorHandle& x, TensorHandle& y) {
  along<T, Forward<T, logarithm>>(a.dim, x, x, y);
}
template <class T, bool logarithm>
void softmax_backward(const Softmax& a, const TensorHandle& dy, const TensorHandle& y, TensorHandle& dx) {
  along<T, Backward<T, logarithm>>(a.dim, dy, y, dx);
}

void add_softmax(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<softmax<float, false>>(op::softmax, single);
  kernels.add<softmax<double, false>>(op::softmax, DType::float64);
  kernels.add<softmax<float, true>>(op::log_softmax, single);
  kernels.add<softmax<double, true>>(op::log_softmax, DType::float64);
  kernels.add<softmax_backward<float, false>>(op::softmax_backward, single);
  kernels.add<softmax_backward<double, false>>(op::softmax_backward, DType::float64);
  kernels.add<softmax_backward<float, true>>(op::log_softmax_backward, single);
  kernels.add<softmax_backward<double, true>>(op::log_softmax_backward, DType::float64);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_softmax);
void register_softmax(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_softmax)(kernels); }

}  // namespace pyburn::cpu
#endif
