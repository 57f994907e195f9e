// Normalisation of rows, forward and backward: each row is read from memory once and stays in the cache for the other passes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/norm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/streaming-inl.h"
#include "pyburn/ops/normalisation.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Where the channels of a row begin, and how long they are.
struct Rows {
  int64_t rows, length, groups, inner;
  int64_t first_channel(int64_t row) const { return row % groups * (length / inner); }
};

template <class T>
void normalise(const NormaliseRows& a, Inputs in, Outputs out) {
  constexpr DType dtype = dtype_of<T>;
  const TensorHandle x = plain(*in[0], dtype);
  const int64_t channels = x.numel() / a.rows * a.groups / a.inner;
  const TensorHandle weight = optional_plain(*in[1], dtype, channels), bias = optional_plain(*in[2], dtype, channels);
  const PlainTarget y(out[0], dtype), means(out[1], dtype), rstds(out[2], dtype);
  const Rows r{a.rows, x.numel() / a.rows, a.groups, a.inner};
  const int64_t n = r.length;
  const RowWriter<T> rows(y.template data<T>(), a.rows, n);
  parallel_for(a.rows, std::max<int64_t>(1, kGrain / 2 / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
    rows.write(begin, end, [&](int64_t row, T* HWY_RESTRICT to) HWY_ATTR {
      const T* HWY_RESTRICT from = x.data<T>() + row * n;
      const double mean = a.centred ? fold_in_runs<Sum>(from, n) / double(n) : 0;
      const double rstd = 1 / std::sqrt(fold_in_runs<SquaredDistance>(from, n, mean) / double(n) + a.eps);
      means.template data<T>()[row] = T(mean);
      rstds.template data<T>()[row] = T(rstd);
      const T m = T(mean), s = T(rstd);
      const int64_t channel = r.first_channel(row);
      const T* w = weight.defined() ? weight.data<T>() + channel : nullptr;
      const T* b = bias.defined() ? bias.data<T>() + channel : nullptr;
      if (!w && !b)
        for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - m) * s;
      else if (r.inner == 1 && w && b)
        for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - m) * s * w[i] + b[i];
      else if (r.inner == 1 && w)
        for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - m) * s * w[i];
      else
        for (int64_t c = 0; c * r.inner < n; ++c) {
          const T scale = w ? s * w[c] : s, shift = b ? b[c] : T(0);
          for (int64_t i = c * r.inner; i < (c + 1) * r.inner; ++i) to[i] = (from[i] - m) * scale + shift;
        }
    });
  });
  for (const PlainTarget* t : {&y, &means, &rstds}) t->finish();
}

// What one row adds to the gradients of weight and bias, and its gradient.
template <class T>
void backward_of_row(const Rows& r, bool centred, int64_t row, const T* HWY_RESTRICT dy, const T* HWY_RESTRICT x, T mean, T rstd,
    const T* w, T* HWY_RESTRICT dx, T* HWY_RESTRICT g, T* HWY_RESTRICT normal, double* dweight, double* dbias) {
  const int64_t n = r.length, inner = r.inner, first = r.first_channel(row);
  for (int64_t i = 0; i < n; ++i) normal[i] = (x[i] - mean) * rstd;
  if (inner == 1) {
    double *HWY_RESTRICT dw = dweight + first, *HWY_RESTRICT db = dbias + first;
    for (int64_t i = 0; i < n; ++i) {
      dw[i] += double(dy[i] * normal[i]);
      db[i] += double(dy[i]);
      g[i] = w ? dy[i] * w[first + i] : dy[i];
    }
  } else {
    for (int64_t c = 0; c * inner < n; ++c) {
      const T scale = w ? w[first + c] : T(1);
      for (int64_t i = c * inner; i < (c + 1) * inner; ++i) g[i] = dy[i] * normal[i];
      dweight[first + c] += fold_in_runs<Sum>(g + c * inner, inner);
      dbias[first + c] += fold_in_runs<Sum>(dy + c * inner, inner);
      for (int64_t i = c * inner; i < (c + 1) * inner; ++i) g[i] = dy[i] * scale;
    }
  }
  const T average = centred ? T(fold_in_runs<Sum>(g, n) / double(n)) : T(0);
  for (int64_t i = 0; i < n; ++i) dx[i] = g[i] * normal[i];
  const T slope = T(fold_in_runs<Sum>(dx, n) / double(n));
  for (int64_t i = 0; i < n; ++i) dx[i] = (g[i] - average - normal[i] * slope) * rstd;
}

template <class T>
void normalise_backward(const NormaliseRows& a, Inputs in, Outputs out) {
  constexpr DType dtype = dtype_of<T>;
  const TensorHandle dy = plain(*in[0], dtype), x = plain(*in[1], dtype), mean = plain(*in[2], dtype), rstd = plain(*in[3], dtype);
  const PlainTarget dx(out[0], dtype), dweight(out[1], dtype), dbias(out[2], dtype);
  const int64_t rows = mean.numel(), channels = out[1].numel();
  const TensorHandle weight = optional_plain(*in[4], dtype, channels);
  const Rows r{rows, x.numel() / rows, a.groups, a.inner};
  const int64_t n = r.length;
  // The rows in a number of parts that depends on the shape alone, each with sums of its own.
  const int64_t parts = std::clamp<int64_t>(x.numel() / kGrain, 1, std::min<int64_t>(rows, 16));
  ScratchBuffer<double> sums(parts * 2 * channels);
  std::fill_n(sums.data(), parts * 2 * channels, 0.0);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> g(n), normal(n);
    for (int64_t part = begin; part < end; ++part) {
      double* dw = sums.data() + part * 2 * channels;
      for (int64_t row = part_begin(rows, part, parts); row < part_begin(rows, part + 1, parts); ++row)
        backward_of_row(r, a.centred, row, dy.data<T>() + row * n, x.data<T>() + row * n, mean.data<T>()[row], rstd.data<T>()[row],
            weight.defined() ? weight.data<T>() : nullptr, dx.template data<T>() + row * n, g.data(), normal.data(), dw, dw + channels);
    }
  });
  for (int64_t c = 0; c < channels; ++c) {
    double w = 0, b = 0;
    for (int64_t part = 0; part < parts; ++part) {
      w += sums.data()[part * 2 * channels + c];
      b += sums.data()[(part * 2 + 1) * channels + c];
    }
    dweight.template data<T>()[c] = T(w);
    dbias.template data<T>()[c] = T(b);
  }
  for (const PlainTarget* t : {&dx, &dweight, &dbias}) t->finish();
}

void add_norm(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<normalise<float>>(op::normalise_rows, single);
  kernels.add<normalise<double>>(op::normalise_rows, DType::float64);
  kernels.add<normalise_backward<float>>(op::normalise_rows_backward, single);
  kernels.add<normalise_backward<double>>(op::normalise_rows_backward, DType::float64);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_norm);
void register_norm(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_norm)(kernels); }

}  // namespace pyburn::cpu
#endif
