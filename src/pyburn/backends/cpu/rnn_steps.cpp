// The steps of a recurrent layer: per step one small product with the state, then the gates of each row in one pass. The weights are packed
// once for all steps. Rows of the batch know nothing of each other, so that threads share them out and meet at the end only.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/rnn_steps.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/backends/cpu/math/vector-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/ops/rnn_steps.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_RNN_TYPES
#define PYBURN_RNN_TYPES
namespace pyburn::cpu {

// One row of the batch at one step; n is the size of the state. `gates` of lstm hold the recurrent sums before, values after.
template <class T>
struct RnnFunctions {
  void (*lstm)(const T* projected, T* gates, const T* c_before, T* c, T* h, int64_t n);
  void (*gru)(const T* projected, const T* recurrent, const T* h_before, T* gates, T* h, int64_t n);
  void (*simple)(bool relu, const T* projected, T* sums, T* h, int64_t n);
  // dc: of the cell after the step, then of the one before. dh of gru: likewise, without the part that goes through the weight.
  void (*lstm_grad)(const T* dh, T* dc, const T* gates, const T* c_before, const T* c, T* d, int64_t n);
  void (*gru_grad)(T* dh, const T* gates, const T* h_before, T* d, T* d_recurrent, int64_t n);
  void (*simple_grad)(bool relu, const T* dh, const T* h, T* d, int64_t n);
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void lstm_row(const T* HWY_RESTRICT projected, T* HWY_RESTRICT gates, const T* HWY_RESTRICT c_before, T* HWY_RESTRICT c, T* HWY_RESTRICT h,
    int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    for (int64_t k = 0; k < n; k += lanes) {
      const int64_t rest = n - k;
      const auto sum = [&](int64_t at) HWY_ATTR { return hn::Add(load_first(d, gates + at, rest), load_first(d, projected + at, rest)); };
      const auto i = sigmoid_of(sum(k)), f = sigmoid_of(sum(n + k)), g = tanh_of(sum(2 * n + k)), o = sigmoid_of(sum(3 * n + k));
      const auto cell = hn::MulAdd(f, load_first(d, c_before + k, rest), hn::Mul(i, g));
      store_first(i, d, gates + k, rest);
      store_first(f, d, gates + n + k, rest);
      store_first(g, d, gates + 2 * n + k, rest);
      store_first(o, d, gates + 3 * n + k, rest);
      store_first(cell, d, c + k, rest);
      store_first(hn::Mul(o, tanh_of(cell)), d, h + k, rest);
    }
  } else {
    T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
    for (int64_t k = 0; k < 4 * n; ++k) gates[k] += projected[k];
    sigmoid_all(i, i, 2 * n);
    tanh_all(g, g, n);
    sigmoid_all(o, o, n);
    for (int64_t k = 0; k < n; ++k) c[k] = f[k] * c_before[k] + i[k] * g[k];
    tanh_all(c, h, n);
    for (int64_t k = 0; k < n; ++k) h[k] *= o[k];
  }
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
void simple_row(bool relu, const T* HWY_RESTRICT projected, T* HWY_RESTRICT sums, T* HWY_RESTRICT h, int64_t n) {
  for (int64_t k = 0; k < n; ++k) sums[k] += projected[k];
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
FunctionsOf<RnnFunctions, float, double> make_functions() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

PYBURN_FUNCTIONS(RnnFunctions)

// The recurrent weights (k x n) of all steps.
template <class T>
class StepProduct {
 public:
  StepProduct(int64_t k, int64_t n, Matrix<const T> weight) : k_(k), n_(n), packed_(packed_size(k, n)) {
    pack_right(k, n, weight, packed_.data());
  }
  // C (rows x n) = A (rows x k) weight, or += when accumulating.
  void operator()(int64_t rows, const T* a, T* c, bool accumulate) {
    gemm_packed(rows, n_, k_, Matrix<const T>{a, k_, 1}, Packed<T>{packed_.data(), k_, n_}, Matrix<T>{c, n_, 1}, accumulate);
  }

 private:
  int64_t k_, n_;
  ScratchBuffer<T> packed_;
};

// Calls body(first, rows) for the rows of a batch: a share for each thread, so that they wait for each other once and not at every step.
// Too few rows to share stay together, and each of their products is shared out.
template <class Body>
void for_rows(int64_t batch, Body body) {
  constexpr int64_t kRows = 6;
  const int64_t threads = num_threads(), few = batch < 2 * threads ? batch : (batch + threads - 1) / threads;
  const int64_t chunk = batch < kRows * threads ? few : std::max(kRows, (batch + 2 * threads - 1) / (2 * threads));
  parallel_for(batch, threads == 1 ? batch : chunk, [&](int64_t begin, int64_t end) { body(begin, end - begin); });
}

template <class T>
void rnn_steps(const RnnSteps& a, Inputs in, Outputs out) {
  const PlainInput<T> projected(*in[0]), weight(*in[1]), bias(*in[2]), h0(*in[3]), c0(*in[4]);
  const PlainOutput<T> y(out[0]), cells(out[1]), gates(out[2]);
  if (y.numel() == 0) return;
  const int64_t steps = y.shape()[0], batch = y.shape()[1], n = y.shape()[2], width = a.gates() * n, step = batch * n;
  const bool is_lstm = a.cell == "lstm", is_gru = a.cell == "gru", is_relu = a.cell == "relu";
  const RnnFunctions<T>& f = functions<T>();
  StepProduct<T> product(n, width, {weight.data(), 1, n});
  for_rows(batch, [&](int64_t first, int64_t rows) {
    ScratchBuffer<T> sums(is_lstm ? 0 : rows * width);  // lstm sums where its gates are kept
    InterruptTicker ticker;
    for (int64_t s = 0; s < steps; ++s) {
      ticker.work(rows * width * n / 16);
      const int64_t t = a.reverse ? steps - 1 - s : s, before = a.reverse ? t + 1 : t - 1;
      const T* h_before = (s == 0 ? h0.data() : y.data() + before * step) + first * n;
      const T* c_before = !is_lstm ? nullptr : (s == 0 ? c0.data() : cells.data() + before * step) + first * n;
      T* sum = is_lstm ? gates.data() + (t * batch + first) * width : sums.data();
      product(rows, h_before, sum, false);
      for (int64_t b = 0; b < rows; ++b, sum += width) {
        const T* x = projected.data() + (t * batch + first + b) * width;
        const int64_t at = t * step + (first + b) * n;
        T* h = y.data() + at;
        if (bias.data())
          for (int64_t k = 0; k < width; ++k) sum[k] += bias.data()[k];
        if (is_lstm) f.lstm(x, sum, c_before + b * n, cells.data() + at, h, n);
        else if (is_gru) f.gru(x, sum, h_before + b * n, gates.data() + 4 * at, h, n);
        else f.simple(is_relu, x, sum, h, n);
      }
    }
  });
}

template <class T>
void rnn_steps_grad(const RnnSteps& a, Inputs in, Outputs out) {
  const PlainInput<T> dy(*in[0]), d_cells(*in[1]), weight(*in[2]), h0(*in[3]), c0(*in[4]), y(*in[5]), cells(*in[6]), gates(*in[7]);
  const PlainOutput<T> d(out[0]), d_recurrent(out[1]), dh(out[2]), dc(out[3]);
  std::fill_n(dh.data(), dh.numel(), T(0));
  std::fill_n(dc.data(), dc.numel(), T(0));
  if (dh.numel() == 0) return;
  const int64_t steps = y.shape()[0], batch = y.shape()[1], n = y.shape()[2], width = a.gates() * n, step = batch * n;
  const bool is_lstm = a.cell == "lstm", is_gru = a.cell == "gru", is_relu = a.cell == "relu";
  const RnnFunctions<T>& f = functions<T>();
  StepProduct<T> product(width, n, {weight.data(), n, 1});
  for_rows(batch, [&](int64_t first, int64_t rows) {
    InterruptTicker ticker;
    for (int64_t s = steps - 1; s >= 0; --s) {
      ticker.work(rows * width * n / 16);
      const int64_t t = a.reverse ? steps - 1 - s : s, before = a.reverse ? t + 1 : t - 1;
      const T* h_before = s == 0 ? h0.data() : y.data() + before * step;
      const T* c_before = !is_lstm ? nullptr : s == 0 ? c0.data() : cells.data() + before * step;
      for (int64_t b = first; b < first + rows; ++b) {
        T *dh_row = dh.data() + b * n, *dc_row = dc.data() + b * n, *d_row = d.data() + (t * batch + b) * width;
        const int64_t at = t * step + b * n;
        for (int64_t k = 0; k < n; ++k) dh_row[k] += dy.data()[at + k];
        if (d_cells.data())
          for (int64_t k = 0; k < n; ++k) dc_row[k] += d_cells.data()[at + k];
        const T* gate_row = gates.data() + 4 * at;
        if (is_lstm) f.lstm_grad(dh_row, dc_row, gate_row, c_before + b * n, cells.data() + at, d_row, n);
        else if (is_gru) f.gru_grad(dh_row, gate_row, h_before + b * n, d_row, d_recurrent.data() + (t * batch + b) * width, n);
        else f.simple_grad(is_relu, dh_row, y.data() + at, d_row, n);
      }
      const T* through = (is_gru ? d_recurrent.data() : d.data()) + (t * batch + first) * width;
      product(rows, through, dh.data() + first * n, is_gru);
    }
  });
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
