// Attention without the matrix of scores: a block of queries against a block of keys at a time, with the largest score and the sum of
// each row kept along the way. The gradient forms the same blocks again from the log-sum-exp.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/attention.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/vector_math-inl.h"
#include "pyburn/ops/attention.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_ATTENTION_TYPES
#define PYBURN_ATTENTION_TYPES
namespace pyburn::cpu {

// A row of a mask: numbers or bools, `stride` apart; null where there is none.
template <class T>
struct MaskRow {
  const T* numbers = nullptr;
  const bool* seen = nullptr;
  int64_t stride = 1;
};
template <class T>
struct AttentionFunctions {
  // Scores of one row: scaled, masked.
  void (*mask)(T* row, int64_t n, T scale, MaskRow<T> mask);
  // The row becomes exp(row - largest), where largest counts those before; gives the factor for what was summed before.
  T (*exponentials)(T* row, int64_t n, T& largest, double& sum);
  void (*scale)(T* row, int64_t n, T factor);
  // p = exp(p - logsumexp), ds = p * (ds - delta) * scale.
  void (*gradients)(T* p, T* ds, int64_t n, T logsumexp, T delta, T scale);
};
struct AttentionTable {
  AttentionFunctions<float> single;
  AttentionFunctions<double> twofold;
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void mask_row(T* row, int64_t n, T scale, MaskRow<T> mask) {
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  if (mask.numbers)
    for (int64_t j = 0; j < n; ++j) row[j] = row[j] * scale + mask.numbers[j * mask.stride];
  else if (mask.seen)
    for (int64_t j = 0; j < n; ++j) row[j] = mask.seen[j * mask.stride] ? row[j] * scale : hidden;
  else
    for (int64_t j = 0; j < n; ++j) row[j] *= scale;
}

template <class T>
T exponentials_of_row(T* row, int64_t n, T& largest, double& sum) {
  const T before = largest, now = std::max(before, fold_contiguous<Amax>(row, n));
  if (now == -std::numeric_limits<T>::infinity()) {  // the query sees no key yet
    std::fill_n(row, n, T(0));
    return T(1);
  }
  exp_minus(row, now, row, n);
  const T factor = std::exp(before - now);
  sum = sum * double(factor) + fold_in_runs<Sum>(row, n);
  largest = now;
  return factor;
}

template <class T>
void scale_row(T* row, int64_t n, T factor) {
  for (int64_t j = 0; j < n; ++j) row[j] *= factor;
}

template <class T>
void gradients_of_row(T* HWY_RESTRICT p, T* HWY_RESTRICT ds, int64_t n, T logsumexp, T delta, T scale) {
  exp_minus(p, logsumexp, p, n);
  for (int64_t j = 0; j < n; ++j) ds[j] = p[j] * (ds[j] - delta) * scale;
}

template <class T>
AttentionFunctions<T> functions_for() {
  return {mask_row<T>, exponentials_of_row<T>, scale_row<T>, gradients_of_row<T>};
}
AttentionTable make_attention() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(make_attention);

template <class T>
const AttentionFunctions<T>& functions() {
  static const AttentionTable table = HWY_DYNAMIC_DISPATCH(make_attention)();
  if constexpr (std::is_same_v<T, float>) return table.single;
  else return table.twofold;
}

// (batch, head, token, feature) with contiguous features; other tensors are copied.
template <class T>
class Heads {
 public:
  explicit Heads(const TensorHandle& x)
      : tensor_(x.dtype() == dtype_of<T> && (x.strides()[3] == 1 || x.shape()[3] == 1) ? x : converted(x, dtype_of<T>)) {}
  Matrix<const T> matrix(int64_t batch, int64_t head, int64_t token = 0) const {
    const Dims& s = tensor_.strides();
    return {tensor_.template data<T>() + batch * s[0] + head * s[1] + token * s[2], s[2], 1};
  }
  int64_t operator[](int i) const { return tensor_.shape()[i]; }

 private:
  TensorHandle tensor_;
};

// The mask of all rows, with strides; bool, or numbers of the kernel's type.
template <class T>
class Mask {
 public:
  explicit Mask(const TensorHandle& x)
      : tensor_(!x.defined() || x.dtype() == DType::boolean || x.dtype() == dtype_of<T> ? x : converted(x, dtype_of<T>)) {}
  MaskRow<T> row(int64_t batch, int64_t head, int64_t query, int64_t key) const {
    if (!tensor_.defined()) return {};
    const Dims& s = tensor_.strides();
    const int64_t offset = batch * s[0] + head * s[1] + query * s[2] + key * s[3];
    if (tensor_.dtype() == DType::boolean) return {.seen = tensor_.template data<bool>() + offset, .stride = s[3]};
    return {.numbers = tensor_.template data<T>() + offset, .stride = s[3]};
  }

 private:
  TensorHandle tensor_;
};

// Each head's matrix (tokens, features) transposed: as the right factor of a product its rows are then contiguous.
template <class T>
class Transposed {
 public:
  explicit Transposed(const Heads<T>& x)
      : row_(x[2] + 16), size_(row_ * x[3]), heads_(x[1]), buffer_(x[0] * x[1] * size_) {  // rows no power of two apart share the cache
    parallel_for(x[0] * x[1], std::max<int64_t>(1, kGrain / std::max<int64_t>(1, size_)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Matrix<const T> m = x.matrix(i / heads_, i % heads_);
        transpose_matrix(x[2], x[3], m.data, m.row, buffer_.data() + i * size_, row_);
      }
    });
  }
  Matrix<const T> matrix(int64_t batch, int64_t head, int64_t token) {
    return {buffer_.data() + (batch * heads_ + head) * size_ + token, row_, 1};
  }

 private:
  int64_t row_, size_, heads_;
  ScratchBuffer<T> buffer_;
};

// The columns of the row of query `i` that it sees, of the block of `n` keys from `first` on.
int64_t visible(const Attention& a, int64_t i, int64_t first, int64_t n) {
  return a.is_causal ? std::clamp<int64_t>(i + 1 - first, 0, n) : n;
}
// Tasks side by side where there are enough; else one after the other, and the products use all threads.
template <class Body>
void for_tasks(int64_t tasks, Body body) {
  parallel_for(tasks, tasks < num_threads() ? tasks : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

template <class T>
void attention(const Attention& a, Inputs in, Outputs out) {
  constexpr int64_t kQueries = 32, kKeys = 512;  // up to 32 rows a product reads its right factor in place
  const Heads<T> q(*in[0]), k(*in[1]), v(*in[2]);
  const Mask<T> mask(*in[3]);
  const PlainOutput<T> y(out[0]), logsumexp(out[1]);
  if (logsumexp.numel() == 0) return;
  Transposed<T> keys(k);
  const AttentionFunctions<T>& f = functions<T>();
  const int64_t heads = q[1], tokens = q[2], features = q[3], width = v[3], length = k[2], share = heads / k[1];
  const int64_t blocks = (tokens + kQueries - 1) / kQueries;
  for_tasks(q[0] * heads * blocks, [&](int64_t task) {
    const int64_t plane = task / blocks, n = plane / heads, h = plane % heads, i0 = task % blocks * kQueries;
    const int64_t rows = std::min(kQueries, tokens - i0), end = a.is_causal ? std::min(length, i0 + rows) : length;
    ScratchBuffer<T> scores(kQueries * std::min(kKeys, std::max<int64_t>(1, end)));
    T largest[kQueries], *result = y.data() + (plane * tokens + i0) * width;
    double sums[kQueries] = {};
    std::fill_n(largest, kQueries, -std::numeric_limits<T>::infinity());
    std::fill_n(result, rows * width, T(0));
    for (int64_t j0 = 0; j0 < end; j0 += kKeys) {
      const int64_t columns = std::min(kKeys, end - j0);
      gemm(rows, columns, features, q.matrix(n, h, i0), keys.matrix(n, h / share, j0), Matrix<T>{scores.data(), columns, 1});
      for (int64_t i = 0; i < rows; ++i) {
        T* row = scores.data() + i * columns;
        const int64_t seen = visible(a, i0 + i, j0, columns);
        f.mask(row, seen, T(a.scale), mask.row(n, h, i0 + i, j0));
        const T factor = f.exponentials(row, seen, largest[i], sums[i]);
        std::fill_n(row + seen, columns - seen, T(0));
        if (factor != T(1)) f.scale(result + i * width, width, factor);
      }
      gemm(rows, width, columns, Matrix<const T>{scores.data(), columns, 1}, v.matrix(n, h / share, j0), Matrix<T>{result, width, 1}, true);
    }
    for (int64_t i = 0; i < rows; ++i) {
      if (sums[i] > 0) f.scale(result + i * width, width, T(1 / sums[i]));
      logsumexp.data()[plane * tokens + i0 + i] = T(double(largest[i]) + std::log(sums[i]));
    }
  });
}

// One task per head of keys: its heads of queries add to the same gradients, in order.
template <class T>
void attention_grad(const Attention& a, Inputs in, Outputs out) {
  constexpr int64_t kQueries = 128, kKeys = 256;
  const Heads<T> dy(*in[0]), q(*in[1]), k(*in[2]), v(*in[3]);
  const Mask<T> mask(*in[4]);
  const PlainInput<T> logsumexp(*in[5]), delta(*in[6]);
  const PlainOutput<T> dq(out[0]), dk(out[1]), dv(out[2]);
  for (const PlainOutput<T>* d : {&dq, &dk, &dv}) std::fill_n(d->data(), d->numel(), T(0));
  if (dq.numel() == 0 || dk.numel() == 0) return;
  Transposed<T> keys(k), values(v);
  const AttentionFunctions<T>& f = functions<T>();
  const int64_t heads = q[1], tokens = q[2], features = q[3], width = v[3], length = k[2], share = heads / k[1];
  auto block = [&](int64_t n, int64_t h, int64_t i0, int64_t j0, T* p, T* ds) {
    const int64_t plane = n * heads + h, group = h / share, rows = std::min(kQueries, tokens - i0), columns = std::min(kKeys, length - j0);
    const Matrix<const T> queries = q.matrix(n, h, i0), entering = dy.matrix(n, h, i0);
    gemm(rows, columns, features, queries, keys.matrix(n, group, j0), Matrix<T>{p, columns, 1});
    gemm(rows, columns, width, entering, values.matrix(n, group, j0), Matrix<T>{ds, columns, 1});
    for (int64_t i = 0; i < rows; ++i) {
      T *p_row = p + i * columns, *ds_row = ds + i * columns;
      const int64_t at = plane * tokens + i0 + i;
      const T sum = logsumexp.data()[at];
      const int64_t seen = sum == -std::numeric_limits<T>::infinity() ? 0 : visible(a, i0 + i, j0, columns);
      f.mask(p_row, seen, T(a.scale), mask.row(n, h, i0 + i, j0));
      f.gradients(p_row, ds_row, seen, sum, delta.data()[at], T(a.scale));
      std::fill_n(p_row + seen, columns - seen, T(0));
      std::fill_n(ds_row + seen, columns - seen, T(0));
    }
    const int64_t key = (n * k[1] + group) * length + j0;
    gemm(columns, width, rows, Matrix<const T>{p, 1, columns}, entering, Matrix<T>{dv.data() + key * width, width, 1}, true);
    gemm(columns, features, rows, Matrix<const T>{ds, 1, columns}, queries, Matrix<T>{dk.data() + key * features, features, 1}, true);
    gemm(rows, features, columns, Matrix<const T>{ds, columns, 1}, k.matrix(n, group, j0),
        Matrix<T>{dq.data() + (plane * tokens + i0) * features, features, 1}, true);
  };
  for_tasks(k[0] * k[1], [&](int64_t task) {
    ScratchBuffer<T> p(kQueries * std::min(kKeys, length)), ds(kQueries * std::min(kKeys, length));
    for (int64_t h = task % k[1] * share; h < (task % k[1] + 1) * share; ++h)
      for (int64_t i0 = 0; i0 < tokens; i0 += kQueries)
        for (int64_t j0 = 0; j0 < (a.is_causal ? std::min(length, i0 + kQueries) : length); j0 += kKeys)
          block(task / k[1], h, i0, j0, p.data(), ds.data());
  });
}

}  // namespace

void register_attention(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<attention<float>>(op::attention, single);
  kernels.add<attention<double>>(op::attention, DType::float64);
  kernels.add<attention_grad<float>>(op::attention_grad, single);
  kernels.add<attention_grad<double>>(op::attention_grad, DType::float64);
}

}  // namespace pyburn::cpu
#endif
