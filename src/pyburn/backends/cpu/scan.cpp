// Running sums, products and extrema: along contiguous rows, or down columns a strip at a time.
#include "pyburn/ops/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

constexpr int64_t kStrip = 64;

// Each scan: the type in which it runs, its start and its step. Floats run in double, as sums do.
struct RunningSum {
  template <class T>
  using Partial = std::conditional_t<std::is_same_v<T, float>, double, T>;
  static constexpr double first = 0;
  template <class A>
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) return A(uint64_t(a) + uint64_t(b));
    else return a + b;
  }
};
struct RunningProduct : RunningSum {
  static constexpr double first = 1;
  template <class A>
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) return A(uint64_t(a) * uint64_t(b));
    else return a * b;
  }
};
struct RunningLogSum : RunningSum {
  static constexpr double first = -std::numeric_limits<double>::infinity();
  template <class A>
  static A join(A a, A b) {
    const A high = a != a || a > b ? a : b, low = a != a || a > b ? b : a;
    if (high == low && std::isinf(high)) return high;  // the difference would be NaN
    return high + std::log1p(std::exp(low - high));
  }
};

// Calls strip(offset, width) for every strip of columns of (outer, extent, inner): contiguous in memory, `inner` apart along
// the axis.
template <class Strip>
void for_strips(const Axis& axis, Strip strip) {
  const int64_t strips = (axis.inner + kStrip - 1) / kStrip;
  const int64_t work = std::max<int64_t>(1, axis.extent * std::min(axis.inner, kStrip));
  parallel_for(axis.outer * strips, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % strips * kStrip;
      strip(i / strips * axis.extent * axis.inner + column, std::min(kStrip, axis.inner - column));
    }
  });
}

template <class Step>
void scan(const Scan& a, const TensorHandle& x_, TensorHandle& y) {
  const DType compute = compute_dtype(y.dtype());
  const TensorHandle x = plain(x_, compute);
  const PlainTarget to(y, compute);
  const Axis axis(x.shape(), a.dim);
  with_compute_type(compute, [&]<class T>(T*) {
    using A = typename Step::template Partial<T>;
    for_strips(axis, [&](int64_t offset, int64_t width) {
      A total[kStrip];
      std::fill_n(total, width, A(Step::first));
      for (int64_t j = 0; j < axis.extent; ++j) {
        const int64_t at = offset + (a.reverse ? axis.extent - 1 - j : j) * axis.inner;
        const T* from = x.data<T>() + at;
        T* into = to.data<T>() + at;
        for (int64_t i = 0; i < width; ++i) {
          total[i] = Step::join(total[i], A(from[i]));
          into[i] = T(total[i]);
        }
      }
    });
  });
  to.finish();
}

// A later element that is equal counts, and a NaN stays, as in PyTorch.
template <bool largest>
void scan_extremum(const Scan& a, Inputs in, Outputs out) {
  const DType compute = compute_dtype(in[0]->dtype());
  const TensorHandle x = plain(*in[0], compute);
  const PlainTarget values(out[0], compute), positions(out[1], DType::int64);
  const Axis axis(x.shape(), a.dim);
  with_compute_type(compute, [&]<class T>(T*) {
    for_strips(axis, [&](int64_t offset, int64_t width) {
      T best[kStrip];
      int64_t at[kStrip];
      for (int64_t j = 0; j < axis.extent; ++j) {
        const int64_t row = offset + (a.reverse ? axis.extent - 1 - j : j) * axis.inner;
        for (int64_t i = 0; i < width; ++i) {
          const T v = x.data<T>()[row + i];
          if (j == 0 || v != v || (best[i] == best[i] && (largest ? v >= best[i] : v <= best[i]))) {
            best[i] = v;
            at[i] = a.reverse ? axis.extent - 1 - j : j;
          }
          values.data<T>()[row + i] = best[i];
          positions.data<int64_t>()[row + i] = at[i];
        }
      }
    });
  });
  values.finish();
  positions.finish();
}

}  // namespace

void register_scan(KernelTable& kernels) {
  kernels.add_for_all<scan<RunningSum>>(op::cumsum);
  kernels.add_for_all<scan<RunningProduct>>(op::cumprod);
  kernels.add<scan<RunningLogSum>>(op::logcumsumexp, {DType::float32, DType::float64, DType::float16, DType::bfloat16});
  kernels.add_for_all<scan_extremum<true>>(op::cummax);
  kernels.add_for_all<scan_extremum<false>>(op::cummin);
}

}  // namespace pyburn::cpu
