// Reductions over consecutive rows.
#include "pyburn/ops/segment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

template <class T>
T start_of(const Segments& a) {
  if (a.initial) return a.initial->to<T>();
  constexpr T infinity = std::numeric_limits<T>::infinity();
  return a.reduce == Reduction::prod ? T(1) : a.reduce == Reduction::amax ? -infinity : a.reduce == Reduction::amin ? infinity : T(0);
}
template <class T>
void take_in(Reduction reduce, T* y, const T* x, int64_t n) {
  if (reduce == Reduction::prod)
    for (int64_t i = 0; i < n; ++i) y[i] *= x[i];
  else if (reduce == Reduction::amax)
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] > y[i] || std::isnan(x[i]) ? x[i] : y[i];
  else if (reduce == Reduction::amin)
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < y[i] || std::isnan(x[i]) ? x[i] : y[i];
  else
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

template <class T>
void reduce_segments(const Segments& a, const TensorHandle& x, const std::vector<int64_t>& bounds, const TensorHandle& y) {
  const int64_t segments = int64_t(bounds.size()) - 1;
  if (y.numel() == 0) return;
  const int64_t row = y.numel() / segments;
  const T* from = x.data<T>();
  T* to = y.data<T>();
  parallel_for(segments, std::max<int64_t>(1, kGrain * segments / std::max<int64_t>(x.numel(), 1)), [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t first = bounds[size_t(s)], last = bounds[size_t(s) + 1];
      T* out = to + s * row;
      std::fill_n(out, row, start_of<T>(a));
      for (int64_t i = first; i < last; ++i) take_in(a.reduce, out, from + i * row, row);
      if (a.reduce != Reduction::mean) continue;
      if (last == first && !a.initial) std::fill_n(out, row, std::numeric_limits<T>::quiet_NaN());
      else if (last > first)
        for (int64_t i = 0; i < row; ++i) out[i] /= T(last - first);
    }
  });
}

void segment_reduce(const Segments& a, const TensorHandle& x, const TensorHandle& lengths_, TensorHandle& y_) {
  const TensorHandle lengths = converted(lengths_, DType::int64);
  std::vector<int64_t> bounds{0};
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    const int64_t n = lengths.data<int64_t>()[i];
    require<ValueError>(n >= 0 && n <= x.shape()[0] - bounds.back(), "lengths must not be negative and sum to {}: got {}", x.shape()[0], n);
    bounds.push_back(bounds.back() + n);
  }
  require<ValueError>(bounds.back() == x.shape()[0], "lengths must sum to {}: got {}", x.shape()[0], bounds.back());
  const DType compute = compute_dtype(x.dtype());
  const TensorHandle data = converted(x, compute), y = scratch(y_, compute);
  if (compute == DType::float64) reduce_segments<double>(a, data, bounds, y);
  else reduce_segments<float>(a, data, bounds, y);
  convert_into(y, y_);
}

}  // namespace

void register_segment(KernelTable& kernels) {
  kernels.add<segment_reduce>(op::_segment_reduce, {DType::float64, DType::float32, DType::float16, DType::bfloat16});
}

}  // namespace pyburn::cpu
