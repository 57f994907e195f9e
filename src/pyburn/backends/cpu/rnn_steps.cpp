// The steps of a recurrent layer: per step one small product with the state, then the gates of each row in one pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/rnn_steps.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/vector_math-inl.h"
#include "pyburn/ops/rnn_steps.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_RNN_TYPES
#define PYBURN_RNN_TYPES
namespace pyburn::cpu {

// One row of the batch at one step; n is the size of the state. `gates` of the forward functions hold sums before, values after.
template <class T>
struct RnnFunctions {
  void (*lstm)(T* gates, const T* c_before, T* c, T* h, int64_t n);
  void (*gru)(const T* projected, const T* recurrent, const T* h_before, T* gates, T* h, int64_t n);
  void (*simple)(bool relu, const T* sums, T* h, int64_t n);
  // dc: of the cell after the step, then of the one before. dh of gru: likewise, without the part that goes through the weight.
  void (*lstm_grad)(const T* dh, T* dc, const T* gates, const T* c_before, const T* c, T* d, int64_t n);
  void (*gru_grad)(T* dh, const T* gates, const T* h_before, T* d, T* d_recurrent, int64_t n);
  void (*simple_grad)(bool relu, const T* dh, const T* h, T* d, int64_t n);
};
struct RnnTable {
  RnnFunctions<float> single;
  RnnFunctions<double> twofold;
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void lstm_row(T* HWY_RESTRICT gates, const T* HWY_RESTRICT c_before, T* HWY_RESTRICT c, T* HWY_RESTRICT h, int64_t n) {
  T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
  sigmoid_all(i, i, 2 * n);
  tanh_all(g, g, n);
  sigmoid_all(o, o, n);
  for (int64_t k = 0; k < n; ++k) c[k] = f[k] * c_before[k] + i[k] * g[k];
  tanh_all(c, h, n);
  for (int64_t k = 0; k < n; ++k) h[k] *= o[k];
}
template <class T>
void gru_row(const T* HWY_RESTRICT projected, const T* HWY_RESTRICT recurrent, const T* HWY_RESTRICT h_before, T* HWY_RESTRICT gates,
    T* HWY_RESTRICT h, int64_t n) {
  T *r = gates, *z = gates + n, *fresh = gates + 2 * n, *q = gates + 3 * n;
  for (int64_t k = 0; k < 2 * n; ++k) r[k] = projected[k] + recurrent[k];
  sigmoid_all(r, r, 2 * n);
  for (int64_t k = 0; k < n; ++k) q[k] = recurrent[2 * n + k];
  for (int64_t k = 0; k < n; ++k) fresh[k] = projected[2 * n + k] + r[k] * q[k];
  tanh_all(fresh, fresh, n);
  for (int64_t k = 0; k < n; ++k) h[k] = fresh[k] + z[k] * (h_before[k] - fresh[k]);
}
template <class T>
void simple_row(bool relu, const T* HWY_RESTRICT sums, T* HWY_RESTRICT h, int64_t n) {
  if (relu)
    for (int64_t k = 0; k < n; ++k) h[k] = sums[k] > T(0) || sums[k] != sums[k] ? sums[k] : T(0);
  else tanh_all(sums, h, n);
}

template <class T>
void lstm_grad_row(const T* HWY_RESTRICT dh, T* HWY_RESTRICT dc, const T* HWY_RESTRICT gates, const T* HWY_RESTRICT c_before,
    const T* HWY_RESTRICT c, T* HWY_RESTRICT d, int64_t n) {
  const T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
  tanh_all(c, d + 3 * n, n);
  for (int64_t k = 0; k < n; ++k) {
    const T bent = d[3 * n + k], total = dc[k] + dh[k] * o[k] * (1 - bent * bent);
    d[k] = total * g[k] * i[k] * (1 - i[k]);
    d[n + k] = total * c_before[k] * f[k] * (1 - f[k]);
    d[2 * n + k] = total * i[k] * (1 - g[k] * g[k]);
    d[3 * n + k] = dh[k] * bent * o[k] * (1 - o[k]);
    dc[k] = total * f[k];
  }
}
template <class T>
void gru_grad_row(T* HWY_RESTRICT dh, const T* HWY_RESTRICT gates, const T* HWY_RESTRICT h_before, T* HWY_RESTRICT d,
    T* HWY_RESTRICT d_recurrent, int64_t n) {
  const T *r = gates, *z = gates + n, *fresh = gates + 2 * n, *q = gates + 3 * n;
  for (int64_t k = 0; k < n; ++k) {
    const T d_fresh = dh[k] * (1 - z[k]) * (1 - fresh[k] * fresh[k]);
    const T d_z = dh[k] * (h_before[k] - fresh[k]) * z[k] * (1 - z[k]), d_r = d_fresh * q[k] * r[k] * (1 - r[k]);
    d[k] = d_recurrent[k] = d_r;
    d[n + k] = d_recurrent[n + k] = d_z;
    d[2 * n + k] = d_fresh;
    d_recurrent[2 * n + k] = d_fresh * r[k];
    dh[k] *= z[k];
  }
}
template <class T>
void simple_grad_row(bool relu, const T* HWY_RESTRICT dh, const T* HWY_RESTRICT h, T* HWY_RESTRICT d, int64_t n) {
  if (relu)
    for (int64_t k = 0; k < n; ++k) d[k] = h[k] > T(0) ? dh[k] : T(0);
  else
    for (int64_t k = 0; k < n; ++k) d[k] = dh[k] * (1 - h[k] * h[k]);
}

template <class T>
RnnFunctions<T> functions_for() {
  return {lstm_row<T>, gru_row<T>, simple_row<T>, lstm_grad_row<T>, gru_grad_row<T>, simple_grad_row<T>};
}
RnnTable make_rnn() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(make_rnn);

template <class T>
const RnnFunctions<T>& functions() {
  static const RnnTable table = HWY_DYNAMIC_DISPATCH(make_rnn)();
  if constexpr (std::is_same_v<T, float>) return table.single;
  else return table.twofold;
}

template <class T>
void rnn_steps(const RnnSteps& a, Inputs in, Outputs out) {
  const PlainInput<T> projected(*in[0]), weight(*in[1]), bias(*in[2]), h0(*in[3]), c0(*in[4]);
  const PlainOutput<T> y(out[0]), cells(out[1]), gates(out[2]);
  if (y.numel() == 0) return;
  const int64_t steps = y.shape()[0], batch = y.shape()[1], n = y.shape()[2], width = a.gates() * n, step = batch * n;
  const bool is_lstm = a.cell == "lstm", is_gru = a.cell == "gru";
  const RnnFunctions<T>& f = functions<T>();
  const int64_t apart = width + 16;                                       // no power of two: rows of the turned weight share the cache
  ScratchBuffer<T> turned(n * apart), sums(is_lstm ? 0 : batch * width);  // lstm sums where its gates are kept
  transpose_matrix(width, n, weight.data(), n, turned.data(), apart);
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t t = a.reverse ? steps - 1 - s : s, before = a.reverse ? t + 1 : t - 1;
    const T* h_before = s == 0 ? h0.data() : y.data() + before * step;
    const T* c_before = !is_lstm ? nullptr : s == 0 ? c0.data() : cells.data() + before * step;
    const T* x = projected.data() + t * batch * width;
    T* sum = is_lstm ? gates.data() + t * batch * width : sums.data();
    for (int64_t b = 0; b < batch; ++b) {  // what the product is added to
      if (!is_gru) std::copy_n(x + b * width, width, sum + b * width);
      else if (bias.data()) std::copy_n(bias.data(), width, sum + b * width);
      if (!is_gru && bias.data())
        for (int64_t k = 0; k < width; ++k) sum[b * width + k] += bias.data()[k];
    }
    gemm(batch, width, n, Matrix<const T>{h_before, n, 1}, Matrix<const T>{turned.data(), apart, 1}, Matrix<T>{sum, width, 1},
        !is_gru || bias.data());
    parallel_for(batch, std::max<int64_t>(1, kGrain / 8 / width), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        T* h = y.data() + t * step + b * n;
        if (is_lstm) f.lstm(sum + b * width, c_before + b * n, cells.data() + t * step + b * n, h, n);
        else if (is_gru) f.gru(x + b * width, sum + b * width, h_before + b * n, gates.data() + (t * batch + b) * 4 * n, h, n);
        else f.simple(a.cell == "relu", sum + b * width, h, n);
      }
    });
  }
}

template <class T>
void rnn_steps_grad(const RnnSteps& a, Inputs in, Outputs out) {
  const PlainInput<T> dy(*in[0]), d_cells(*in[1]), weight(*in[2]), h0(*in[3]), c0(*in[4]), y(*in[5]), cells(*in[6]), gates(*in[7]);
  const PlainOutput<T> d(out[0]), d_recurrent(out[1]), dh(out[2]), dc(out[3]);
  std::fill_n(dh.data(), dh.numel(), T(0));
  std::fill_n(dc.data(), dc.numel(), T(0));
  if (dh.numel() == 0) return;
  const int64_t steps = y.shape()[0], batch = y.shape()[1], n = y.shape()[2], width = a.gates() * n, step = batch * n;
  const bool is_lstm = a.cell == "lstm", is_gru = a.cell == "gru";
  const RnnFunctions<T>& f = functions<T>();
  for (int64_t s = steps - 1; s >= 0; --s) {
    const int64_t t = a.reverse ? steps - 1 - s : s, before = a.reverse ? t + 1 : t - 1;
    const T* h_before = s == 0 ? h0.data() : y.data() + before * step;
    const T* c_before = !is_lstm ? nullptr : s == 0 ? c0.data() : cells.data() + before * step;
    parallel_for(batch, std::max<int64_t>(1, kGrain / 8 / width), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        T *dh_row = dh.data() + b * n, *dc_row = dc.data() + b * n, *d_row = d.data() + (t * batch + b) * width;
        const int64_t at = t * step + b * n;
        for (int64_t k = 0; k < n; ++k) dh_row[k] += dy.data()[at + k];
        if (d_cells.data())
          for (int64_t k = 0; k < n; ++k) dc_row[k] += d_cells.data()[at + k];
        const T* gate_row = gates.data() + (t * batch + b) * 4 * n;
        if (is_lstm) f.lstm_grad(dh_row, dc_row, gate_row, c_before + b * n, cells.data() + at, d_row, n);
        else if (is_gru) f.gru_grad(dh_row, gate_row, h_before + b * n, d_row, d_recurrent.data() + (t * batch + b) * width, n);
        else f.simple_grad(a.cell == "relu", dh_row, y.data() + at, d_row, n);
      }
    });
    const T* through = (is_gru ? d_recurrent.data() : d.data()) + t * batch * width;
    gemm(batch, n, width, Matrix<const T>{through, width, 1}, Matrix<const T>{weight.data(), n, 1}, Matrix<T>{dh.data(), n, 1}, is_gru);
  }
}

}  // namespace

void register_rnn_steps(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<rnn_steps<float>>(op::rnn_steps, single);
  kernels.add<rnn_steps<double>>(op::rnn_steps, DType::float64);
  kernels.add<rnn_steps_grad<float>>(op::rnn_steps_grad, single);
  kernels.add<rnn_steps_grad<double>>(op::rnn_steps_grad, DType::float64);
}

}  // namespace pyburn::cpu
#endif
