// Running sums, products and extrema: along contiguous rows, or down columns a strip at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/scan.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/ops/scan.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kStrip = 64, kPiece = 1 << 16;

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

// A contiguous row, one element after the other.
template <class Step, class T, class A = typename Step::template Partial<T>>
void scan_row(const T* x, T* y, int64_t n, bool reverse) {
  A total = A(Step::first);
  const int64_t step = reverse ? -1 : 1;
  InterruptTicker ticker;
  for (int64_t j = 0, at = reverse ? n - 1 : 0; j < n;) {
    const int64_t end = std::min(n, j + kPiece);
    ticker.work(10 * (end - j));
    for (; j < end; ++j, at += step) {
      total = Step::join(total, A(x[at]));
      y[at] = T(total);
    }
  }
}

// Sums of floats, a vector of doubles at a time: running sums inside the vector in log2 steps, then what came before it. Doubles hold
// any sum of floats without overflow, so the order of additions does not show.
template <bool reverse>
void running_sums(const float* x, float* y, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> single;
  const hn::RebindToSigned<decltype(d)> places;
  constexpr int64_t lanes = HWY_LANES(double);
  const auto lane = hn::Iota(places, 0);
  auto from_lane = [&](int64_t shift) HWY_ATTR {  // lane i reads lane i - shift; the first ones read lane 0, and are set to 0 below
    return hn::IndicesFromVec(d, hn::Max(hn::Sub(lane, hn::Set(places, shift)), hn::Zero(places)));
  };
  auto has_source = [&](int64_t shift) HWY_ATTR { return hn::RebindMask(d, hn::Gt(lane, hn::Set(places, shift - 1))); };
  const auto by1 = from_lane(1), by2 = from_lane(2), by4 = from_lane(4), last = hn::IndicesFromVec(d, hn::Set(places, lanes - 1));
  const auto has1 = has_source(1), has2 = has_source(2), has4 = has_source(4);
  auto before = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const int64_t at = reverse ? n - lanes - i : i;
    auto v = hn::PromoteTo(d, hn::LoadU(single, x + at));
    if constexpr (reverse) v = hn::Reverse(d, v);
    if constexpr (lanes > 1) v = hn::Add(v, hn::IfThenElseZero(has1, hn::TableLookupLanes(v, by1)));
    if constexpr (lanes > 2) v = hn::Add(v, hn::IfThenElseZero(has2, hn::TableLookupLanes(v, by2)));
    if constexpr (lanes > 4) v = hn::Add(v, hn::IfThenElseZero(has4, hn::TableLookupLanes(v, by4)));
    const auto whole = hn::TableLookupLanes(v, last);
    v = hn::Add(v, before);
    before = hn::Add(before, whole);
    if constexpr (reverse) v = hn::Reverse(d, v);
    hn::StoreU(hn::DemoteTo(single, v), single, y + at);
  }
  double total = hn::GetLane(before);
  for (; i < n; ++i) {
    const int64_t at = reverse ? n - 1 - i : i;
    total += double(x[at]);
    y[at] = float(total);
  }
}

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
    if (axis.inner == 1) {
      const int64_t n = axis.extent;
      parallel_for(axis.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const T* from = x.data<T>() + row * n;
          T* into = to.data<T>() + row * n;
          if constexpr (std::is_same_v<Step, RunningSum> && std::is_same_v<T, float>)
            a.reverse ? running_sums<true>(from, into, n) : running_sums<false>(from, into, n);
          else scan_row<Step>(from, into, n, a.reverse);
        }
      });
      return;
    }
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

void add_scan(KernelTable& kernels) {
  kernels.add_for_all<scan<RunningSum>>(op::cumsum);
  kernels.add_for_all<scan<RunningProduct>>(op::cumprod);
  kernels.add<scan<RunningLogSum>>(op::logcumsumexp, {DType::float32, DType::float64, DType::float16, DType::bfloat16});
  kernels.add_for_all<scan_extremum<true>>(op::cummax);
  kernels.add_for_all<scan_extremum<false>>(op::cummin);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_scan);
void register_scan(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_scan)(kernels); }

}  // namespace pyburn::cpu
#endif
