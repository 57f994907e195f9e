// Extrema along one axis and their positions: the first one counts, and NaN is more extreme than any number, as in PyTorch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/extremum.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/ops/extremum.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// One row: the extremum first, then where it is; both loops are vectors.
template <class Fold, class T>
int64_t position_in_row(const T* p, int64_t n) {
  const T best = fold_contiguous<Fold>(p, n);
  constexpr int64_t kBlock = 64;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    int32_t hits = 0;
    if (best == best)
      for (int64_t k = 0; k < kBlock; ++k) hits += p[i + k] == best;
    else
      for (int64_t k = 0; k < kBlock; ++k) hits += p[i + k] != p[i + k];
    if (hits) break;
  }
  while (i < n && !(p[i] == best || (best != best && p[i] != p[i]))) ++i;
  return i;
}

constexpr int64_t kStrip = 128;

// Down columns, a strip of them at a time.
template <class Fold, class T>
void positions_in_strip(const T* p, int64_t n, int64_t stride, int64_t width, T* values, int64_t* positions) {
  HWY_ALIGN T best[kStrip];
  HWY_ALIGN int64_t at[kStrip];
  std::copy_n(p, width, best);
  std::fill_n(at, width, 0);
  for (int64_t j = 1; j < n; ++j)
    for (int64_t i = 0; i < width; ++i) {
      const T v = p[j * stride + i], b = best[i];
      const bool better = (v == v || b == b) && b == b && !(Fold::join(b, v) == b);  // a NaN in b stays
      best[i] = better ? v : b;
      at[i] = better ? j : at[i];
    }
  if (values) std::copy_n(best, width, values);
  std::copy_n(at, width, positions);
}

template <class Fold>
void extremum(const ArgReduce& a, const TensorHandle& x_, TensorHandle* values, TensorHandle& positions) {
  const DType compute = compute_dtype(x_.dtype());
  const TensorHandle x = plain(x_, compute);
  Axis axis;
  if (a.dim >= 0) axis = Axis(x.shape(), a.dim);
  else axis.extent = x.numel();
  const PlainTarget to(positions, DType::int64);
  std::optional<PlainTarget> best;
  if (values) best.emplace(*values, compute);
  with_compute_type(compute, [&]<class T>(T*) {
    const int64_t n = axis.extent, inner = axis.inner;
    if (inner == 1) {
      parallel_for(axis.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* row = x.data<T>() + i * n;
          const int64_t at = position_in_row<Fold>(row, n);
          to.data<int64_t>()[i] = at;
          if (best) best->data<T>()[i] = row[at];
        }
      });
      return;
    }
    if (inner == 0) return;
    const int64_t strips = (inner + kStrip - 1) / kStrip;
    parallel_for(axis.outer * strips, std::max<int64_t>(1, kGrain / n / std::min(inner, kStrip)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % strips * kStrip, out = i / strips * inner + column;
        positions_in_strip<Fold>(x.data<T>() + i / strips * n * inner + column, n, inner, std::min(kStrip, inner - column),
            best ? best->data<T>() + out : nullptr, to.data<int64_t>() + out);
      }
    });
  });
  to.finish();
  if (best) best->finish();
}

void argmax(const ArgReduce& a, const TensorHandle& x, TensorHandle& y) { extremum<Amax>(a, x, nullptr, y); }
void argmin(const ArgReduce& a, const TensorHandle& x, TensorHandle& y) { extremum<Amin>(a, x, nullptr, y); }
void max_dim(const ArgReduce& a, Inputs in, Outputs out) { extremum<Amax>(a, *in[0], &out[0], out[1]); }
void min_dim(const ArgReduce& a, Inputs in, Outputs out) { extremum<Amin>(a, *in[0], &out[0], out[1]); }

void add_extremum(KernelTable& kernels) {
  kernels.add_for_all<argmax>(op::argmax);
  kernels.add_for_all<argmin>(op::argmin);
  kernels.add_for_all<max_dim>(op::max_dim);
  kernels.add_for_all<min_dim>(op::min_dim);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_extremum);
void register_extremum(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_extremum)(kernels); }

}  // namespace pyburn::cpu
#endif
