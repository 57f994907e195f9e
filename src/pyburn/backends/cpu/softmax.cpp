// softmax and log_softmax: along contiguous rows, or down columns a strip at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/softmax.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/math-inl.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/norm.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_SOFTMAX_TYPES
#define PYBURN_SOFTMAX_TYPES
namespace pyburn::cpu {

template <class T>
struct SoftmaxFunctions {
  void (*row)(const T* x, T* y, int64_t n, bool logarithm);
  void (*strip)(const T* x, T* y, int64_t n, int64_t stride, int64_t width, bool logarithm);  // at most kStrip columns
};
struct SoftmaxTable {
  SoftmaxFunctions<float> single;
  SoftmaxFunctions<double> twofold;
};
inline constexpr int64_t kStrip = 128;

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// y may be x: every loop reads an element before it writes it.
template <class T>
void softmax_row(const T* x, T* y, int64_t n, bool logarithm) {
  const T largest = fold_contiguous<Amax>(x, n);
  double sum = 0;
  HWY_ALIGN T tile[kTile];
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t m = std::min(kTile, n - begin);
    for (int64_t i = 0; i < m; ++i) tile[i] = exp_of(x[begin + i] - largest);
    sum += fold_contiguous<Sum>(tile, m);
    if (!logarithm) std::copy_n(tile, m, y + begin);
  }
  if (logarithm) {
    const T shift = T(std::log(sum));
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - shift;
  } else {
    const T scale = T(1 / sum);
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

template <class T>
void softmax_strip(const T* x, T* y, int64_t n, int64_t stride, int64_t width, bool logarithm) {
  HWY_ALIGN T largest[kStrip], last[kStrip];
  HWY_ALIGN double sum[kStrip];
  std::fill_n(largest, width, Amax::first<T>());
  std::fill_n(sum, width, 0.0);
  fold_block<Amax>(x, 1, width, stride, n, largest);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < width; ++i) {
      const T e = exp_of(x[j * stride + i] - largest[i]);
      sum[i] += double(e);
      if (!logarithm) y[j * stride + i] = e;
    }
  for (int64_t i = 0; i < width; ++i) last[i] = T(logarithm ? std::log(sum[i]) : 1 / sum[i]);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < width; ++i) {
      T& to = y[j * stride + i];
      to = logarithm ? (x[j * stride + i] - largest[i]) - last[i] : to * last[i];
    }
}

SoftmaxTable make_softmax() { return {{softmax_row<float>, softmax_strip<float>}, {softmax_row<double>, softmax_strip<double>}}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(make_softmax);

template <class T>
const SoftmaxFunctions<T>& softmax_functions() {
  static const SoftmaxTable table = HWY_DYNAMIC_DISPATCH(make_softmax)();
  if constexpr (std::is_same_v<T, float>) return table.single;
  else return table.twofold;
}

template <class T, bool logarithm>
void softmax(const Softmax& a, const TensorHandle& x_, TensorHandle& y_) {
  constexpr DType dtype = std::is_same_v<T, float> ? DType::float32 : DType::float64;
  if (x_.numel() == 0) return;
  const TensorHandle x = x_.dtype() == dtype && x_.layout().is_contiguous() ? x_ : converted(x_, dtype);
  const TensorHandle y = y_.dtype() == dtype && y_.layout().is_contiguous() ? y_ : scratch(y_, dtype);
  int64_t n = 1, inner = 1;  // x as (outer, n, inner)
  if (x.rank() > 0) {
    n = x.shape()[a.dim];
    for (int i = int(a.dim) + 1; i < x.rank(); ++i) inner *= x.shape()[i];
  }
  constexpr int64_t grain = 4096;  // elements: exp makes them dear
  const int64_t outer = x.numel() / n / inner;
  const SoftmaxFunctions<T>& functions = softmax_functions<T>();
  if (inner == 1) {
    parallel_for(outer, std::max<int64_t>(1, grain / n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) functions.row(x.data<T>() + i * n, y.data<T>() + i * n, n, logarithm);
    });
  } else {
    const int64_t strips = (inner + kStrip - 1) / kStrip;
    parallel_for(outer * strips, std::max<int64_t>(1, grain / n / std::min(inner, kStrip)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % strips * kStrip, offset = i / strips * n * inner + column;
        functions.strip(x.data<T>() + offset, y.data<T>() + offset, n, inner, std::min(kStrip, inner - column), logarithm);
      }
    });
  }
  if (!y.is_same(y_)) convert_into(y, y_);
}

}  // namespace

void register_softmax(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<softmax<float, false>>(op::softmax, single);
  kernels.add<softmax<double, false>>(op::softmax, DType::float64);
  kernels.add<softmax<float, true>>(op::log_softmax, single);
  kernels.add<softmax<double, true>>(op::log_softmax, DType::float64);
}

}  // namespace pyburn::cpu
#endif
