// Cross entropy of scores and classes, and logsumexp. Forward, the scores are read and nothing of their size is written.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/cross_entropy.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/math/vector-inl.h"
#include "pyburn/ops/cross_entropy.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kStrip = 128;
constexpr int64_t kDear = 4096;

template <class T>
T finite_or_zero(T x) {
  return std::isfinite(x) ? x : T(0);
}

// log(sum(exp(x))) of `width` neighbouring columns (rows, where stride is 1) of n scores.
template <class T>
void log_sums(const T* x, int64_t n, int64_t stride, int64_t width, T* results) {
  HWY_ALIGN T largest[kStrip], tile[kTile];
  HWY_ALIGN double sum[kStrip];
  std::fill_n(sum, width, 0.0);
  if (stride == 1) {
    largest[0] = finite_or_zero(fold_contiguous<Amax>(x, n));
    for (int64_t begin = 0; begin < n; begin += kTile) {
      const int64_t m = std::min(kTile, n - begin);
      exp_minus(x + begin, largest[0], tile, m);
      sum[0] += double(fold_contiguous<InRuns<Sum>>(tile, m));
    }
  } else {
    std::fill_n(largest, width, Amax::first<T>());
    fold_block<Amax>(x, 1, width, stride, n, largest);
    for (int64_t i = 0; i < width; ++i) largest[i] = finite_or_zero(largest[i]);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < width; ++i) sum[i] += double(exp_of(x[j * stride + i] - largest[i]));
  }
  for (int64_t i = 0; i < width; ++i) results[i] = T(double(largest[i]) + std::log(sum[i]));
}

void check_class(int64_t c, int64_t classes) {
  require<IndexError>(c >= 0 && c < classes, "class index out of range: got {}, expected less than {}", c, classes);
}

// Calls body(scores, at, width) for strips of neighbouring results: `at` is the first of them, `scores` its first score.
template <class Body>
void for_strips(const Axis& axis, Body body) {
  const int64_t strips = (axis.inner + kStrip - 1) / kStrip, work = std::max<int64_t>(1, axis.extent * std::min(axis.inner, kStrip));
  parallel_for(axis.outer * strips, std::max<int64_t>(1, kDear / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % strips * kStrip;
      body(i / strips * axis.extent * axis.inner + column, i / strips * axis.inner + column, std::min(kStrip, axis.inner - column));
    }
  });
}

// The reduced dimensions last, contiguous, unless they are adjacent.
template <class T>
void logsumexp(const Reduce& a, const TensorHandle& x_, TensorHandle& y) {
  const PlainTarget to(y, dtype_of<T>);
  if (y.numel() == 0) return;
  if (count(x_.shape(), a.dim) == 0) {
    std::fill_n(to.template data<T>(), y.numel(), -std::numeric_limits<T>::infinity());
    return to.finish();
  }
  Axis axis;
  TensorHandle x;
  if (a.dim.empty() || a.dim.back() - a.dim[0] + 1 == a.dim.size()) {
    x = plain(x_, dtype_of<T>);
    const int64_t first = a.dim.empty() ? 0 : a.dim[0], last = a.dim.empty() ? -1 : a.dim.back();
    for (int i = 0; i < x.rank(); ++i) (i < first ? axis.outer : i <= last ? axis.extent : axis.inner) *= x.shape()[i];
  } else {
    Layout moved;
    moved.offset = x_.layout().offset;
    for (bool folded : {false, true})
      for (int i = 0; i < x_.rank(); ++i) {
        if ((std::find(a.dim.begin(), a.dim.end(), i) != a.dim.end()) != folded) continue;
        moved.shape.push_back(x_.shape()[i]);
        moved.strides.push_back(x_.strides()[i]);
      }
    x = plain(alias(x_, moved), dtype_of<T>);
    axis.outer = y.numel();
    axis.extent = x.numel() / axis.outer;
  }
  for_strips(axis, [&](int64_t scores, int64_t at, int64_t width) {
    log_sums(x.data<T>() + scores, axis.extent, axis.inner, width, to.template data<T>() + at);
  });
  to.finish();
}

template <class T>
void class_loss(const ClassLoss& a, Inputs in, Outputs out) {
  constexpr DType dtype = dtype_of<T>;
  const TensorHandle x = plain(*in[0], dtype), target = plain(*in[1], DType::int64);
  const PlainTarget loss(out[0], dtype), total(out[1], dtype);
  const Axis axis(x.shape(), 1);
  if (x.numel() == 0) return;
  for_strips(axis, [&](int64_t scores, int64_t at, int64_t width) {
    T* totals = total.template data<T>() + at;
    log_sums(x.data<T>() + scores, axis.extent, axis.inner, width, totals);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t c = target.data<int64_t>()[at + i];
      const bool counts = c != a.ignore_index;
      if (counts) check_class(c, axis.extent);
      loss.template data<T>()[at + i] = counts ? totals[i] - x.data<T>()[scores + c * axis.inner + i] : T(0);
    }
  });
  loss.finish();
  total.finish();
}

template <class T>
void class_loss_backward(const ClassLoss& a, Inputs in, Outputs out) {
  constexpr DType dtype = dtype_of<T>;
  const TensorHandle dy = plain(*in[0], dtype), x = plain(*in[1], dtype), target = plain(*in[2], DType::int64),
                     total = plain(*in[3], dtype);
  const PlainTarget dx(out[0], dtype);
  const Axis axis(x.shape(), 1);
  if (x.numel() == 0) return;
  for_strips(axis, [&](int64_t scores, int64_t at, int64_t width) {
    HWY_ALIGN T scale[kStrip];
    const T *HWY_RESTRICT from = x.data<T>() + scores, *HWY_RESTRICT shift = total.data<T>() + at;
    T* HWY_RESTRICT to = dx.template data<T>() + scores;
    const int64_t* classes = target.data<int64_t>() + at;
    for (int64_t i = 0; i < width; ++i) scale[i] = classes[i] == a.ignore_index ? T(0) : dy.data<T>()[at + i];
    if (axis.inner == 1) {
      exp_minus(from, shift[0], to, axis.extent);
      for (int64_t j = 0; j < axis.extent; ++j) to[j] *= scale[0];
    } else {
      for (int64_t j = 0; j < axis.extent; ++j)
        for (int64_t i = 0; i < width; ++i) to[j * axis.inner + i] = exp_of(from[j * axis.inner + i] - shift[i]) * scale[i];
    }
    for (int64_t i = 0; i < width; ++i) {
      const int64_t c = classes[i];
      if (c == a.ignore_index) continue;
      check_class(c, axis.extent);
      to[c * axis.inner + i] -= scale[i];
    }
  });
  dx.finish();
}

void add_cross_entropy(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<class_loss<float>>(op::class_loss, single);
  kernels.add<class_loss<double>>(op::class_loss, DType::float64);
  kernels.add<logsumexp<float>>(op::logsumexp, single);
  kernels.add<logsumexp<double>>(op::logsumexp, DType::float64);
  kernels.add<class_loss_backward<float>>(op::class_loss_backward, single);
  kernels.add<class_loss_backward<double>>(op::class_loss_backward, DType::float64);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_cross_entropy);
void register_cross_entropy(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_cross_entropy)(kernels); }

}  // namespace pyburn::cpu
#endif
