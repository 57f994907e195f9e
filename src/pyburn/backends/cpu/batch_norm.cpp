// Normalisation over a batch, forward and backward: a channel at a time. Its pieces, one per example, are read from memory once
// where they fit into the cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/batch_norm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/ops/batch_norm.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Calls body(channel, piece) where piece(k) is the offset of the k-th piece of the channel.
template <class Body>
void for_channels(const Axis& axis, Body body) {
  parallel_for(axis.extent, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, axis.outer * axis.inner)), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) body(c, [&axis, c](int64_t k) { return (k * axis.extent + c) * axis.inner; });
  });
}

template <class T>
void normalise(const NormaliseBatch& a, Inputs in, Outputs out) {
  constexpr DType dtype = dtype_of<T>;
  const TensorHandle x = plain(*in[0], dtype);
  const int64_t channels = x.shape()[1];
  const TensorHandle weight = optional_plain(*in[1], dtype, channels), bias = optional_plain(*in[2], dtype, channels);
  const PlainTarget y(out[0], dtype), means(out[1], dtype), variances(out[2], dtype);
  const Axis axis(x.shape(), 1);
  const double n = double(axis.outer * axis.inner);
  for_channels(axis, [&](int64_t c, auto piece) {
    double mean = 0, variance = 0;
    for (int64_t k = 0; k < axis.outer; ++k) mean += fold_in_runs<Sum>(x.data<T>() + piece(k), axis.inner);
    mean /= n;
    for (int64_t k = 0; k < axis.outer; ++k) variance += fold_in_runs<SquaredDistance>(x.data<T>() + piece(k), axis.inner, mean);
    variance /= n;
    means.template data<T>()[c] = T(mean);
    variances.template data<T>()[c] = T(variance);
    const double rstd = 1 / std::sqrt(variance + a.eps);
    const T m = T(mean), scale = T(weight.defined() ? rstd * double(weight.data<T>()[c]) : rstd);
    const T shift = bias.defined() ? bias.data<T>()[c] : T(0);
    for (int64_t k = 0; k < axis.outer; ++k) {
      const T* HWY_RESTRICT from = x.data<T>() + piece(k);
      T* HWY_RESTRICT to = y.template data<T>() + piece(k);
      for (int64_t i = 0; i < axis.inner; ++i) to[i] = (from[i] - m) * scale + shift;
    }
  });
  for (const PlainTarget* t : {&y, &means, &variances}) t->finish();
}

template <class T>
void normalise_backward(const NormaliseBatch& a, Inputs in, Outputs out) {
  constexpr DType dtype = dtype_of<T>;
  const TensorHandle dy = plain(*in[0], dtype), x = plain(*in[1], dtype), means = plain(*in[2], dtype), variances = plain(*in[3], dtype);
  const TensorHandle weight = optional_plain(*in[4], dtype, x.shape()[1]);
  const PlainTarget dx(out[0], dtype), dweight(out[1], dtype), dbias(out[2], dtype);
  const Axis axis(x.shape(), 1);
  const double n = double(axis.outer * axis.inner);
  for_channels(axis, [&](int64_t c, auto piece) {
    const double rstd = 1 / std::sqrt(double(variances.data<T>()[c]) + a.eps);
    const T m = means.data<T>()[c], r = T(rstd);
    double dw = 0, db = 0;
    HWY_ALIGN T tile[kTile];
    for (int64_t k = 0; k < axis.outer; ++k) {
      const T *HWY_RESTRICT g = dy.data<T>() + piece(k), *HWY_RESTRICT from = x.data<T>() + piece(k);
      db += fold_in_runs<Sum>(g, axis.inner);
      for (int64_t begin = 0; begin < axis.inner; begin += kTile) {
        const int64_t length = std::min(kTile, axis.inner - begin);
        for (int64_t i = 0; i < length; ++i) tile[i] = g[begin + i] * (from[begin + i] - m);
        dw += double(fold_contiguous<InRuns<Sum>>(tile, length));
      }
    }
    dw *= rstd;
    dweight.template data<T>()[c] = T(dw);
    dbias.template data<T>()[c] = T(db);
    const T average = T(db / n), slope = T(dw / n) * r, scale = T(weight.defined() ? rstd * double(weight.data<T>()[c]) : rstd);
    for (int64_t k = 0; k < axis.outer; ++k) {
      const T *HWY_RESTRICT g = dy.data<T>() + piece(k), *HWY_RESTRICT from = x.data<T>() + piece(k);
      T* HWY_RESTRICT to = dx.template data<T>() + piece(k);
      for (int64_t i = 0; i < axis.inner; ++i) to[i] = (g[i] - average - (from[i] - m) * slope) * scale;
    }
  });
  for (const PlainTarget* t : {&dx, &dweight, &dbias}) t->finish();
}

// Shorter pieces of a channel are faster in columns, as the decomposition computes them.
bool has_long_pieces(const TensorHandle& x) {
  constexpr int64_t kLong = 8;
  return Axis(x.shape(), 1).inner >= kLong;
}

void add_batch_norm(KernelTable& kernels) {
  kernels.only_if(op::normalise_batch, [](const void*, Inputs in) { return has_long_pieces(*in[0]); });
  kernels.only_if(op::normalise_batch_backward, [](const void*, Inputs in) { return has_long_pieces(*in[1]); });
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<normalise<float>>(op::normalise_batch, single);
  kernels.add<normalise<double>>(op::normalise_batch, DType::float64);
  kernels.add<normalise_backward<float>>(op::normalise_batch_backward, single);
  kernels.add<normalise_backward<double>>(op::normalise_batch_backward, DType::float64);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_batch_norm);
void register_batch_norm(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_batch_norm)(kernels); }

}  // namespace pyburn::cpu
#endif
