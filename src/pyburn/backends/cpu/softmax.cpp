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
#include "pyburn/backends/cpu/vector_math-inl.h"
#include "pyburn/ops/softmax.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kStrip = 128;
constexpr int64_t kDear = 4096;  // elements per claimed chunk: exp makes them dear

// y may be x: every loop reads an element before it writes it.
template <class T, bool logarithm>
struct Forward {
  static void row(const T* x, const T*, T* y, int64_t n) {
    const T largest = fold_contiguous<Amax>(x, n);
    double sum = 0;
    HWY_ALIGN T tile[kTile];
    for (int64_t begin = 0; begin < n; begin += kTile) {
      const int64_t m = std::min(kTile, n - begin);
      T* e = logarithm ? tile : y + begin;
      exp_minus(x + begin, largest, e, m);
      sum += double(fold_contiguous<InRuns<Sum>>(e, m));
    }
    if (logarithm) {
      const T shift = T(std::log(sum));
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - shift;
    } else {
      const T scale = T(1 / sum);
      for (int64_t i = 0; i < n; ++i) y[i] *= scale;
    }
  }
  static void strip(const T* x, const T*, T* y, int64_t n, int64_t stride, int64_t width) {
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
  static void strip(const T* dy, const T* y, T* dx, int64_t n, int64_t stride, int64_t width) {
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
    parallel_for(axis.outer, std::max<int64_t>(1, kDear / n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Kernel::row(x.data<T>() + i * n, second.data<T>() + i * n, y.template data<T>() + i * n, n);
    });
  } else {
    const int64_t width = std::clamp<int64_t>(inner / 4 / 16 * 16, 32, kStrip), strips = (inner + width - 1) / width;
    parallel_for(axis.outer * strips, std::max<int64_t>(1, kDear / n / std::min(inner, width)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % strips * width, at = i / strips * n * inner + column;
        Kernel::strip(x.data<T>() + at, second.data<T>() + at, y.template data<T>() + at, n, inner, std::min(width, inner - column));
      }
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
