// Pooling, a plane at a time. Windows are rectangles: rows are joined first, whole vectors at a time, then the columns of the joined row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/pool.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <optional>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/backends/cpu/pool_pixels.h"
#include "pyburn/backends/cpu/pool_windows-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_POOL_TYPES
#define PYBURN_POOL_TYPES
namespace pyburn::cpu {

template <class T>
struct PoolFunctions {
  void (*max)(const PoolWindows&, int64_t planes, const T* x, T* y, T* row);
  void (*max_indices)(const PoolWindows&, const T* x, T* y, int64_t* indices, T* row);
  void (*mean)(const PoolWindows&, int64_t planes, const T* x, T* y, T* row);
  void (*mean_input)(const PoolWindows&, const T* dy, T* dx, T* row);
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// body(row of the window) for the rows of the window at (z, y).
template <class Body>
void for_window_rows(const PoolWindows& w, int64_t z, int64_t y, Body body) {
  for (int64_t i = w.z.first(z); i < w.z.last(z); i += w.z.dilation)
    for (int64_t j = w.y.first(y); j < w.y.last(y); j += w.y.dilation) body(i * w.y.in + j);
}
// The outputs [first, last) for which tap k of a regular dimension is inside.
std::pair<int64_t, int64_t> inside(const PoolAxis& a, int64_t k) {
  const int64_t shift = a.padding - k * a.dilation;
  const int64_t first = shift > 0 ? (shift + a.stride - 1) / a.stride : 0;
  const int64_t last = a.in + shift > 0 ? (a.in + shift + a.stride - 1) / a.stride : 0;
  return {std::min(first, a.out), std::min(last, a.out)};
}

// y[o] = the join of the elements of row in each window along x.
template <class Fold, class T>
void join_columns(const PoolAxis& a, const T* HWY_RESTRICT row, T* HWY_RESTRICT y) {
  if (a.adaptive) {
    for (int64_t o = 0; o < a.out; ++o) {
      T value = Fold::template start<T>;
      for (int64_t i = a.first(o); i < a.last(o); ++i) value = Fold::join(value, row[i]);
      y[o] = value;
    }
    return;
  }
  std::fill_n(y, a.out, Fold::template start<T>);
  for (int64_t k = 0; k < a.kernel; ++k) {
    const auto [first, last] = inside(a, k);
    const T* from = row + k * a.dilation - a.padding;
    if (a.stride == 1)
      for (int64_t o = first; o < last; ++o) y[o] = Fold::join(y[o], from[o]);
    else if (a.stride == 2)
      for (int64_t o = first; o < last; ++o) y[o] = Fold::join(y[o], from[2 * o]);
    else
      for (int64_t o = first; o < last; ++o) y[o] = Fold::join(y[o], from[o * a.stride]);
  }
}

template <class Fold, class T>
void join_window(const PoolWindows& w, int64_t z, int64_t y, const T* x, T* HWY_RESTRICT row, T* result) {
  const int64_t width = w.x.in;
  bool started = false;
  for_window_rows(w, z, y, [&](int64_t line) HWY_ATTR {
    const T* HWY_RESTRICT from = x + line * width;
    if (!started) std::copy_n(from, width, row);
    else
      for (int64_t i = 0; i < width; ++i) row[i] = Fold::join(row[i], from[i]);
    started = true;
  });
  if (!started) std::fill_n(row, width, Fold::template start<T>);
  join_columns<Fold>(w.x, row, result);
}

// body(x, y) for each plane and its windows.
template <class T, class Body>
void for_each_plane(const PoolWindows& w, int64_t planes, const T* x, T* y, Body body) {
  for (int64_t plane = 0; plane < planes; ++plane, x += w.plane(), y += w.windows()) body(x, y);
}

template <class T>
void max_planes(const PoolWindows& w, int64_t planes, const T* x, T* y, T* row) {
  if (w.whole()) return for_each_plane(w, planes, x, y, [&](const T* from, T* to) { *to = join_all<Largest>(from, w.plane()); });
  if (has_regular_windows(w))
    return with_regular_windows<Largest, T>(w, [&](const auto& windows) {
      for_each_plane(w, planes, x, y,
          [&](const T* from, T* to) { windows.run(from, to, [](auto value, int64_t, int64_t, int64_t) HWY_ATTR { return value; }); });
    });
  for_each_plane(w, planes, x, y, [&](const T* from, T* to) {
    for (int64_t i = 0; i < w.z.out; ++i)
      for (int64_t j = 0; j < w.y.out; ++j, to += w.x.out) join_window<Largest>(w, i, j, from, row, to);
  });
}

// The first of equal elements counts, and a NaN before all. `places` is as wide as T, so that both fit the same vectors; a row of
// windows is done a tap at a time, in the order of memory.
template <class T, class Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>
void max_indices_row(const PoolWindows& w, int64_t z, int64_t y, const T* x, T* HWY_RESTRICT largest, Place* HWY_RESTRICT places) {
  std::fill_n(largest, w.x.out, Largest::start<T>);
  std::fill_n(places, w.x.out, Place(-1));
  auto take = [&](T value, int64_t o, int64_t place) HWY_ATTR {
    const bool better = places[o] < 0 || value > largest[o] || value != value;
    largest[o] = better ? value : largest[o];
    places[o] = better ? Place(place) : places[o];
  };
  for_window_rows(w, z, y, [&](int64_t line) HWY_ATTR {
    const T* HWY_RESTRICT from = x + line * w.x.in;
    if (w.x.adaptive) {
      for (int64_t o = 0; o < w.x.out; ++o)
        for (int64_t k = w.x.first(o); k < w.x.last(o); ++k) take(from[k], o, line * w.x.in + k);
      return;
    }
    for (int64_t k = 0; k < w.x.kernel; ++k) {
      const auto [first, last] = inside(w.x, k);
      const int64_t shift = k * w.x.dilation - w.x.padding, stride = w.x.stride;
      for (int64_t o = first; o < last; ++o) take(from[o * stride + shift], o, line * w.x.in + o * stride + shift);
    }
  });
}
template <class T>
void max_indices_plane(const PoolWindows& w, const T* x, T* y, int64_t* indices, T* row) {
  auto* places = reinterpret_cast<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>*>(row);
  for (int64_t i = 0; i < w.z.out; ++i)
    for (int64_t j = 0; j < w.y.out; ++j, y += w.x.out, indices += w.x.out) {
      max_indices_row<T>(w, i, j, x, y, places);
      std::copy_n(places, w.x.out, indices);
    }
}

// What is divided by: numbers of elements of the columns, times those of the row of windows.
template <class T>
void mean_regular(const PoolWindows& w, int64_t planes, const T* x, T* y, T* columns) {
  const hn::ScalableTag<T> d;
  for (int64_t o = 0; o < w.x.out; ++o) columns[o] = T(w.divisor ? w.divisor : w.x.count(o, w.count_padding));
  std::fill_n(columns + w.x.out, kVector<T>, T(1));
  with_regular_windows<Total, T>(w, [&](const auto& windows) {
    for_each_plane(w, planes, x, y, [&](const T* from, T* to) {
      windows.run(from, to, [&](auto value, int64_t i, int64_t j, int64_t o) HWY_ATTR {
        const T rows = w.divisor ? T(1) : T(w.z.count(i, w.count_padding) * w.y.count(j, w.count_padding));
        return hn::Div(value, hn::Mul(hn::Set(d, rows), hn::LoadU(d, columns + o)));
      });
    });
  });
}

template <class T>
void mean_planes(const PoolWindows& w, int64_t planes, const T* x, T* y, T* row) {
  if (w.whole())
    return for_each_plane(
        w, planes, x, y, [&](const T* from, T* to) { *to = join_all<Total>(from, w.plane()) / divisor_of<T>(w, 0, 0, 0); });
  if constexpr (std::is_floating_point_v<T>)
    if (has_regular_windows(w)) return mean_regular(w, planes, x, y, row);
  for_each_plane(w, planes, x, y, [&](const T* from, T* to) {
    for (int64_t i = 0; i < w.z.out; ++i)
      for (int64_t j = 0; j < w.y.out; ++j, to += w.x.out) {
        join_window<Total>(w, i, j, from, row, to);
        for (int64_t o = 0; o < w.x.out; ++o) to[o] /= divisor_of<T>(w, i, j, o);
      }
  });
}

template <class T>
void mean_input_plane(const PoolWindows& w, const T* dy, T* dx, T* HWY_RESTRICT row) {
  const int64_t width = w.x.in;
  std::fill_n(dx, w.plane(), T(0));
  for (int64_t i = 0; i < w.z.out; ++i)
    for (int64_t j = 0; j < w.y.out; ++j, dy += w.x.out) {
      std::fill_n(row, width, T(0));
      for (int64_t o = 0; o < w.x.out; ++o) {
        const T share = dy[o] / divisor_of<T>(w, i, j, o);
        for (int64_t k = w.x.first(o); k < w.x.last(o); ++k) row[k] += share;
      }
      for_window_rows(w, i, j, [&](int64_t line) HWY_ATTR {
        T* HWY_RESTRICT to = dx + line * width;
        for (int64_t k = 0; k < width; ++k) to[k] += row[k];
      });
    }
}

template <class T>
PoolFunctions<T> functions_for() {
  return {max_planes<T>, max_indices_plane<T>, mean_planes<T>, mean_input_plane<T>};
}
FunctionsOf<PoolFunctions, float, double, int64_t> make_functions() {
  return {functions_for<float>(), functions_for<double>(), functions_for<int64_t>()};
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

PYBURN_FUNCTIONS(PoolFunctions)

PoolWindows windows_of(const auto& a, const Shape& x) {
  PoolWindows w;
  PoolAxis* axes[] = {&w.z, &w.y, &w.x};
  const int64_t n = a.kernel_size.size();
  for (int64_t i = 0; i < n; ++i) *axes[3 - n + i] = pool_axis(a, i, x[x.rank() - n + i]);
  if constexpr (requires { a.divisor; }) {
    w.count_padding = a.count_include_pad && !a.adaptive;
    w.divisor = a.divisor;
  }
  return w;
}

// body(first plane, planes, buffer of a row, with a vector behind it) for all planes.
template <class T, class Body>
void for_planes(const PoolWindows& w, int64_t planes, Body body) {
  parallel_for(planes, std::max<int64_t>(1, kGrain / w.elements()), [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> row(std::max(w.x.in, w.x.out) + 64 / int64_t(sizeof(T)));
    body(begin, end - begin, row.data());
  });
}

// Images of a graph whose convolutions want their channels last.
bool has_channels_last(const TensorHandle& x) {
  const Shape& s = x.shape();
  return x.dtype() == DType::float32 && x.layout().strides == Dims{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
}
std::optional<PixelImages> as_pixels(const PoolWindows& w, const TensorHandle& x, const TensorHandle& y) {
  if (x.rank() != 4 || w.z.in != 1 || x.layout().is_contiguous() || !has_channels_last(x) || y.numel() == 0) return {};
  if (!has_channels_last(y) && !(w.whole() && y.layout().is_contiguous() && y.dtype() == x.dtype())) return {};
  return PixelImages{x.shape()[0], x.shape()[1], x.data<float>(), y.data<float>()};
}

template <class T>
void max_pool(const MaxPool& a, const TensorHandle& x_, TensorHandle& y_) {
  if (const auto p = as_pixels(windows_of(a, x_.shape()), x_, y_)) return max_pool_pixels(windows_of(a, x_.shape()), *p);
  const PlainInput<T> x(x_);
  const PlainOutput<T> y(y_);
  if (y.numel() == 0) return;
  const PoolWindows w = windows_of(a, x.shape());
  for_planes<T>(w, y.numel() / w.windows(),
      [&](int64_t i, int64_t count, T* row) { functions<T>().max(w, count, x.data() + i * w.plane(), y.data() + i * w.windows(), row); });
}
template <class T>
void max_pool_with_indices(const MaxPool& a, Inputs in, Outputs out) {
  const PlainInput<T> x(*in[0]);
  const PlainOutput<T> y(out[0]);
  const PlainOutput<int64_t> indices(out[1]);
  if (y.numel() == 0) return;
  const PoolWindows w = windows_of(a, x.shape());
  for_planes<T>(w, y.numel() / w.windows(), [&](int64_t first, int64_t count, T* row) {
    for (int64_t i = first; i < first + count; ++i)
      functions<T>().max_indices(w, x.data() + i * w.plane(), y.data() + i * w.windows(), indices.data() + i * w.windows(), row);
  });
}
template <class T>
void avg_pool(const AvgPool& a, const TensorHandle& x_, TensorHandle& y_) {
  if (const auto p = as_pixels(windows_of(a, x_.shape()), x_, y_)) return avg_pool_pixels(windows_of(a, x_.shape()), *p);
  const PlainInput<T> x(x_);
  const PlainOutput<T> y(y_);
  if (y.numel() == 0) return;
  const PoolWindows w = windows_of(a, x.shape());
  for_planes<T>(w, y.numel() / w.windows(),
      [&](int64_t i, int64_t count, T* row) { functions<T>().mean(w, count, x.data() + i * w.plane(), y.data() + i * w.windows(), row); });
}
template <class T>
void avg_pool_input(const AvgPool& a, const TensorHandle& dy_, TensorHandle& dx_) {
  const PlainInput<T> dy(dy_);
  const PlainOutput<T> dx(dx_);
  if (dx.numel() == 0) return;
  const PoolWindows w = windows_of(a, dx.shape());
  for_planes<T>(w, dx.numel() / w.plane(), [&](int64_t first, int64_t count, T* row) {
    for (int64_t i = first; i < first + count; ++i)
      functions<T>().mean_input(w, dy.data() + i * w.windows(), dx.data() + i * w.plane(), row);
  });
}

int64_t checked_place(int64_t index, int64_t plane) {
  require<IndexError>(index >= 0 && index < plane, "index out of range: got {} for a plane of {}", index, plane);
  return index;
}
int64_t plane_of(const Shape& s, int64_t axes) {
  int64_t n = 1;
  for (int64_t i = s.rank() - axes; i < s.rank(); ++i) n *= s[i];
  return n;
}

template <class T>
void unpool(const Unpool& a, const TensorHandle& x_, const TensorHandle& indices_, TensorHandle& y_) {
  const PlainInput<T> x(x_);
  const PlainInput<int64_t> indices(indices_);
  const PlainOutput<T> y(y_);
  std::fill_n(y.data(), y.numel(), T(0));
  const int64_t n = plane_of(x.shape(), a.output_size.size()), plane = plane_of(y.shape(), a.output_size.size());
  if (n == 0) return;
  parallel_for(x_.numel() / n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * n; i < end * n; ++i) {
      T& to = y.data()[i / n * plane + checked_place(indices.data()[i], plane)];
      to = a.accumulate ? to + x.data()[i] : x.data()[i];
    }
  });
}
template <class T>
void unpool_input(const Unpool& a, const TensorHandle& dy_, const TensorHandle& indices_, TensorHandle& dx_) {
  const PlainInput<T> dy(dy_);
  const PlainInput<int64_t> indices(indices_);
  const PlainOutput<T> dx(dx_);
  const int64_t n = plane_of(dx.shape(), a.output_size.size()), plane = plane_of(dy.shape(), a.output_size.size());
  if (dx.numel() == 0) return;
  parallel_for(dx.numel() / n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * n; i < end * n; ++i) dx.data()[i] = dy.data()[i / n * plane + checked_place(indices.data()[i], plane)];
  });
}

template <class T>
void register_for(KernelTable& kernels, DType key) {
  kernels.add<max_pool<T>>(op::max_pool, key);
  kernels.add<max_pool_with_indices<T>>(op::max_pool_with_indices, key);
  kernels.add<unpool<T>>(op::unpool, key);
  kernels.add<unpool_input<T>>(op::unpool_input, key);
  kernels.add<avg_pool<T>>(op::avg_pool, key);
  kernels.add<avg_pool_input<T>>(op::avg_pool_input, key);
}

}  // namespace

void register_pool(KernelTable& kernels) {
  for (DType k : all_dtypes()) {
    if (!is_floating(k)) register_for<int64_t>(kernels, k);
    else if (compute_dtype(k) == DType::float64) register_for<double>(kernels, k);
    else register_for<float>(kernels, k);
  }
}

}  // namespace pyburn::cpu
#endif
