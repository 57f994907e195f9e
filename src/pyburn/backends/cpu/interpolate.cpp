// Resizing along one axis: rows are weighted sums of rows where the axis has others after it, else elements of elements.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/interpolate.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/ops/interpolate.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_INTERPOLATE_TYPES
#define PYBURN_INTERPOLATE_TYPES
namespace pyburn::cpu {

template <class T>
struct ResizeFunctions {
  void (*row)(const T* x, int64_t row, const double* weights, int64_t taps, T* y, int64_t n);        // y = sum of weight * row of x
  void (*add_row)(const T* dy, const double* weights, int64_t taps, T* dx, int64_t row, int64_t n);  // its transpose
  void (*line)(const ResizeTaps& taps, const T* x, T* y);                                            // one element per output
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void weighted_row(const T* x, int64_t row, const double* weights, int64_t taps, T* HWY_RESTRICT y, int64_t n) {
  const T first = T(weights[0]);
  if (taps == 2) {  // linear: one pass
    const T second = T(weights[1]);
    for (int64_t i = 0; i < n; ++i) y[i] = first * x[i] + second * x[row + i];
    return;
  }
  for (int64_t i = 0; i < n; ++i) y[i] = first * x[i];
  for (int64_t k = 1; k < taps; ++k)
    for (int64_t i = 0; i < n; ++i) y[i] += T(weights[k]) * x[k * row + i];
}
template <class T>
void add_weighted_row(const T* HWY_RESTRICT dy, const double* weights, int64_t taps, T* dx, int64_t row, int64_t n) {
  for (int64_t k = 0; k < taps; ++k)
    for (int64_t i = 0; i < n; ++i) dx[k * row + i] += T(weights[k]) * dy[i];
}
template <class T>
void weighted_line(const ResizeTaps& taps, const T* HWY_RESTRICT x, T* HWY_RESTRICT y) {
  const int64_t* first = taps.first.data();
  const int64_t* count = taps.count.data();
  const double* weights = taps.weights.data();
  const auto n = int64_t(taps.first.size());
  if (taps.width == 1) {
    for (int64_t o = 0; o < n; ++o) y[o] = x[first[o]];
    return;
  }
  for (int64_t o = 0; o < n; ++o, weights += taps.width) {
    T sum = 0;
    for (int64_t k = 0; k < count[o]; ++k) sum += T(weights[k]) * x[first[o] + k];
    y[o] = sum;
  }
}
template <class T>
ResizeFunctions<T> functions_for() {
  return {weighted_row<T>, add_weighted_row<T>, weighted_line<T>};
}
FunctionsOf<ResizeFunctions, float, double> make_functions() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

PYBURN_FUNCTIONS(ResizeFunctions)
int64_t inner_of(const Shape& s, int64_t dim) {
  int64_t n = 1;
  for (int64_t i = dim + 1; i < s.rank(); ++i) n *= s[i];
  return n;
}

// Images whose channels come last are plain with another order of axes; rows are channels then.
TensorHandle pixels_of(const TensorHandle& x) {
  const Shape& s = x.shape();
  if (x.rank() != 4 || !(x.layout().strides == Dims{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]})) return {};
  return alias(x, {Shape{s[0], s[2], s[3], s[1]}, Dims{s[1] * s[2] * s[3], s[1] * s[3], s[1], 1}, x.layout().offset});
}

template <class T>
void resize_axis(const Resize& a, const TensorHandle& x_, TensorHandle& y_) {
  if (a.dim >= 2 && !x_.layout().is_contiguous())
    if (TensorHandle x = pixels_of(x_), y = pixels_of(y_); x.defined() && y.defined()) {
      Resize turned = a;
      --turned.dim;
      return resize_axis<T>(turned, x, y);
    }
  const PlainInput<T> x(x_);
  const PlainOutput<T> y(y_);
  if (y.numel() == 0) return;
  const ResizeTaps taps = resize_taps(a);
  const int64_t n = a.input_size, m = a.output_size, inner = inner_of(x.shape(), a.dim), outer = y.numel() / m / inner;
  const ResizeFunctions<T>& f = functions<T>();
  if (inner == 1)
    return parallel_for(outer, std::max<int64_t>(1, kGrain / m), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f.line(taps, x.data() + i * n, y.data() + i * m);
    });
  parallel_for(outer * m, std::max<int64_t>(1, kGrain / inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto o = size_t(i % m);
      f.row(x.data() + (i / m * n + taps.first[o]) * inner, inner, taps.weights.data() + int64_t(o) * taps.width, taps.count[o],
          y.data() + i * inner, inner);
    }
  });
}

template <class T>
void resize_axis_input(const Resize& a, const TensorHandle& dy_, TensorHandle& dx_) {
  const PlainInput<T> dy(dy_);
  const PlainOutput<T> dx(dx_);
  std::fill_n(dx.data(), dx.numel(), T(0));
  if (dx.numel() == 0) return;
  const ResizeTaps taps = resize_taps(a);
  const int64_t n = a.input_size, m = a.output_size, inner = inner_of(dx.shape(), a.dim), outer = dx.numel() / n / inner;
  const ResizeFunctions<T>& f = functions<T>();
  parallel_for(outer, std::max<int64_t>(1, kGrain / (m * inner)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * m; i < end * m; ++i) {
      const auto o = size_t(i % m);
      const double* weights = taps.weights.data() + int64_t(o) * taps.width;
      T* to = dx.data() + (i / m * n + taps.first[o]) * inner;
      if (inner > 1) f.add_row(dy.data() + i * inner, weights, taps.count[o], to, inner, inner);
      else
        for (int64_t k = 0; k < taps.count[o]; ++k) to[k] += T(weights[k]) * dy.data()[i];
    }
  });
}

}  // namespace

void register_interpolate(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16, DType::uint8};
  kernels.add<resize_axis<float>>(op::resize_axis, single);
  kernels.add<resize_axis<double>>(op::resize_axis, DType::float64);
  kernels.add<resize_axis_input<float>>(op::resize_axis_input, single);
  kernels.add<resize_axis_input<double>>(op::resize_axis_input, DType::float64);
}

}  // namespace pyburn::cpu
#endif
