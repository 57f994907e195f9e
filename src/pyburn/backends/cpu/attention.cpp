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
#include <optional>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/backends/cpu/math/vector-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/ops/attention.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_ATTENTION_TYPES
#define PYBURN_ATTENTION_TYPES
namespace pyburn::cpu {

// A row of a mask: numbers or bools, `stride` apart; null if there is no mask.
template <class T>
struct MaskRow {
  const T* numbers = nullptr;
  const bool* seen = nullptr;
  int64_t stride = 1;
};
template <class T>
struct AttentionFunctions {
  // Scores of one row: scaled and masked.
  void (*mask)(T* row, int64_t n, T scale, MaskRow<T> mask);
  // The row becomes exp(scale * (row - largest)), where largest counts those before; gives the factor for what was summed before.
  T (*exponentials)(T* row, int64_t n, T scale, T& largest, double& sum);
  void (*scale)(T* row, int64_t n, T factor);
  // p = exp(p * factor - logsumexp), ds = p * (ds - delta) * scale. The product is rounded, as in the logsumexp: p of huge scores is exact.
  void (*gradients)(T* p, T* ds, int64_t n, T factor, T logsumexp, T delta, T scale);
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

// row = exp(scale * (row - shift)); the sum of the row.
inline double exponentials(double* row, int64_t n, double scale, double shift) {
  for (int64_t j = 0; j < n; ++j) row[j] = std::exp(scale * (row[j] - shift));
  return fold_in_runs<Sum>(row, n);
}
inline double exponentials(float* row, int64_t n, float scale, float shift) {
  const FloatTag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto by = hn::Set(d, shift), factor = hn::Set(d, scale);
  const auto of = [&](auto x) HWY_ATTR { return exp_of(hn::Mul(hn::Sub(x, by), factor)); };
  auto sum = hn::Zero(d), other = hn::Zero(d);
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    const auto first = of(hn::LoadU(d, row + j)), second = of(hn::LoadU(d, row + j + lanes));
    hn::StoreU(first, d, row + j);
    hn::StoreU(second, d, row + j + lanes);
    sum = hn::Add(sum, first);
    other = hn::Add(other, second);
  }
  for (; j < n; j += lanes) {
    const int64_t rest = std::min(lanes, n - j);
    const auto last = hn::IfThenElseZero(hn::FirstN(d, size_t(rest)), of(load_first(d, row + j, rest)));
    store_first(last, d, row + j, rest);
    sum = hn::Add(sum, last);
  }
  return double(hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other))));
}

template <class T>
T exponentials_of_row(T* row, int64_t n, T scale, T& largest, double& sum) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  const T before = largest, most = fold_contiguous<Amax>(row, n);
  const T now = most > before || most != most ? most : before;  // a NaN is the largest, and stays
  if (now == none) {                                            // the query sees no key yet
    std::fill_n(row, n, T(0));
    return T(1);
  }
  const T factor = before == none ? T(0) : before == now ? T(1) : std::exp(scale * (before - now));
  sum = sum * double(factor) + exponentials(row, n, scale, now);
  largest = now;
  return factor;
}

template <class T>
void scale_row(T* row, int64_t n, T factor) {
  for (int64_t j = 0; j < n; ++j) row[j] *= factor;
}

inline void gradients_of_row(double* p, double* ds, int64_t n, double factor, double logsumexp, double delta, double scale) {
  for (int64_t j = 0; j < n; ++j) {
    p[j] = std::exp(p[j] * factor - logsumexp);
    ds[j] = p[j] * (ds[j] - delta) * scale;
  }
}
inline void gradients_of_row(float* p, float* ds, int64_t n, float factor, float logsumexp, float delta, float scale) {
  const FloatTag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto by = hn::Set(d, logsumexp), less = hn::Set(d, delta), p_factor = hn::Set(d, factor), ds_factor = hn::Set(d, scale);
  for (int64_t j = 0; j < n; j += lanes) {
    const int64_t rest = n - j;
    const auto probability = exp_of(hn::Sub(hn::Mul(load_first(d, p + j, rest), p_factor), by));
    store_first(probability, d, p + j, rest);
    store_first(hn::Mul(probability, hn::Mul(hn::Sub(load_first(d, ds + j, rest), less), ds_factor)), d, ds + j, rest);
  }
}

template <class T>
AttentionFunctions<T> functions_for() {
  return {mask_row<T>, exponentials_of_row<T>, scale_row<T>, gradients_of_row};
}
FunctionsOf<AttentionFunctions, float, double> make_functions() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

PYBURN_FUNCTIONS(AttentionFunctions)

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
  bool defined() const { return tensor_.defined(); }
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

// The matrix of a head, turned: (features x tokens), as the right factor of several products.
template <class T>
class TurnedHead {
 public:
  TurnedHead(const Heads<T>& x, int64_t batch, int64_t head) : features_(x[3]), tokens_(x[2]), buffer_(packed_size(features_, tokens_)) {
    const Matrix<const T> m = x.matrix(batch, head);
    pack_right(features_, tokens_, Matrix<const T>{m.data, 1, m.row}, buffer_.data());
  }
  Packed<T> from(int64_t token) { return {buffer_.data(), features_, tokens_, 0, token}; }

 private:
  int64_t features_, tokens_;
  ScratchBuffer<T> buffer_;
};

// The columns of the row of query `i` that it sees, of the block of `n` keys from `first` on.
int64_t visible(const Attention& a, int64_t i, int64_t first, int64_t n) {
  return a.is_causal ? std::clamp<int64_t>(i + 1 - first, 0, n) : n;
}
// Tasks in parallel if there are enough; otherwise sequentially, with products that use all threads.
template <class Body>
void for_tasks(int64_t tasks, Body body) {
  parallel_for(tasks, tasks < num_threads() ? tasks : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

template <class T>
void attention(const Attention& a, Inputs in, Outputs out) {
  constexpr int64_t kQueries = 48, kKeys = 512, kFewQueries = 4;  // up to those, reading the keys as they are costs less than turning them
  const Heads<T> q(*in[0]), k(*in[1]), v(*in[2]);
  const Mask<T> mask(*in[3]);
  const PlainOutput<T> y(out[0]), logsumexp(out[1]);
  if (logsumexp.numel() == 0) return;
  const AttentionFunctions<T>& f = functions<T>();
  const int64_t heads = q[1], tokens = q[2], features = q[3], width = v[3], length = k[2], share = heads / k[1];
  const bool scales_later = !mask.defined() && a.scale > 0;  // the largest score is the same before and after
  const T late = scales_later ? T(a.scale) : T(1);
  auto block = [&](int64_t n, int64_t h, int64_t i0, std::optional<TurnedHead<T>>& keys, T* scores) {
    const int64_t plane = n * heads + h, rows = std::min(kQueries, tokens - i0), end = a.is_causal ? std::min(length, i0 + rows) : length;
    T largest[kQueries], *result = y.data() + (plane * tokens + i0) * width;
    double sums[kQueries] = {};
    std::fill_n(largest, kQueries, -std::numeric_limits<T>::infinity());
    if (end == 0) std::fill_n(result, rows * width, T(0));
    for (int64_t j0 = 0; j0 < end; j0 += kKeys) {
      const int64_t columns = std::min(kKeys, end - j0);
      const Matrix<const T> key = k.matrix(n, h / share, j0);
      if (keys) gemm_packed(rows, columns, features, q.matrix(n, h, i0), keys->from(j0), Matrix<T>{scores, columns, 1});
      else gemm(rows, columns, features, q.matrix(n, h, i0), Matrix<const T>{key.data, 1, key.row}, Matrix<T>{scores, columns, 1});
      for (int64_t i = 0; i < rows; ++i) {
        T* row = scores + i * columns;
        const int64_t seen = visible(a, i0 + i, j0, columns);
        if (!scales_later) f.mask(row, seen, T(a.scale), mask.row(n, h, i0 + i, j0));
        const T factor = f.exponentials(row, seen, late, largest[i], sums[i]);
        std::fill_n(row + seen, columns - seen, T(0));
        if (j0 > 0 && factor != T(1)) f.scale(result + i * width, width, factor);
      }
      gemm(rows, width, columns, Matrix<const T>{scores, columns, 1}, v.matrix(n, h / share, j0), Matrix<T>{result, width, 1}, j0 > 0);
    }
    for (int64_t i = 0; i < rows; ++i) {
      if (sums[i] > 0) f.scale(result + i * width, width, T(1 / sums[i]));
      logsumexp.data()[plane * tokens + i0 + i] = T(double(largest[i]) * double(late) + std::log(sums[i]));
    }
  };
  // A head of keys is transposed once for all of its queries, or for a part of them if there are too few heads.
  const int64_t blocks = (tokens + kQueries - 1) / kQueries, shared = k[0] * k[1];
  const int64_t parts = std::min(blocks, (4 * num_threads() + shared - 1) / shared);
  for_tasks(shared * parts, [&](int64_t task) {
    const int64_t n = task / parts / k[1], group = task / parts % k[1], part = task % parts;
    std::optional<TurnedHead<T>> keys;
    if (tokens * share > kFewQueries) keys.emplace(k, n, group);
    ScratchBuffer<T> scores(std::min(kQueries, tokens) * std::min(kKeys, length));
    for (int64_t h = group * share; h < (group + 1) * share; ++h)
      for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) block(n, h, i * kQueries, keys, scores.data());
  });
}

// One task per head of keys: its heads of queries add to the same gradients, in order.
template <class T>
void attention_grad(const Attention& a, Inputs in, Outputs out) {
  constexpr int64_t kQueries = 128, kKeys = 256, kRow = kKeys + 16;  // rows no power of two apart share the cache
  const Heads<T> dy(*in[0]), q(*in[1]), k(*in[2]), v(*in[3]);
  const Mask<T> mask(*in[4]);
  const PlainInput<T> logsumexp(*in[5]), delta(*in[6]);
  const PlainOutput<T> dq(out[0]), dk(out[1]), dv(out[2]);
  for (const PlainOutput<T>* d : {&dq, &dk, &dv}) std::fill_n(d->data(), d->numel(), T(0));
  if (in[5]->numel() == 0 || k[2] == 0) return;  // queries without features see all keys alike
  const AttentionFunctions<T>& f = functions<T>();
  const int64_t heads = q[1], tokens = q[2], features = q[3], width = v[3], length = k[2], share = heads / k[1];
  const T late = mask.defined() ? T(1) : T(a.scale);
  auto block = [&](int64_t n, int64_t h, int64_t i0, int64_t rows, int64_t j0, int64_t columns, TurnedHead<T>& keys, TurnedHead<T>& values,
                   T* p, T* ds) {
    const int64_t plane = n * heads + h, group = h / share, key = (n * k[1] + group) * length + j0;
    const Matrix<const T> queries = q.matrix(n, h, i0), entering = dy.matrix(n, h, i0);
    gemm_packed(rows, columns, features, queries, keys.from(j0), Matrix<T>{p, kRow, 1});
    gemm_packed(rows, columns, width, entering, values.from(j0), Matrix<T>{ds, kRow, 1});
    for (int64_t i = 0; i < rows; ++i) {
      T *p_row = p + i * kRow, *ds_row = ds + i * kRow;
      const int64_t at = plane * tokens + i0 + i;
      const T sum = logsumexp.data()[at];
      const int64_t seen = sum == -std::numeric_limits<T>::infinity() ? 0 : visible(a, i0 + i, j0, columns);
      if (mask.defined()) f.mask(p_row, seen, T(a.scale), mask.row(n, h, i0 + i, j0));
      f.gradients(p_row, ds_row, seen, late, sum, delta.data()[at], T(a.scale));
      std::fill_n(p_row + seen, columns - seen, T(0));
      std::fill_n(ds_row + seen, columns - seen, T(0));
    }
    gemm(columns, width, rows, Matrix<const T>{p, 1, kRow}, entering, Matrix<T>{dv.data() + key * width, width, 1}, true);
    gemm(columns, features, rows, Matrix<const T>{ds, 1, kRow}, queries, Matrix<T>{dk.data() + key * features, features, 1}, true);
    gemm(rows, features, columns, Matrix<const T>{ds, kRow, 1}, k.matrix(n, group, j0),
        Matrix<T>{dq.data() + (plane * tokens + i0) * features, features, 1}, true);
  };
  for_tasks(k[0] * k[1], [&](int64_t task) {
    const int64_t n = task / k[1], group = task % k[1];
    TurnedHead<T> keys(k, n, group), values(v, n, group);
    ScratchBuffer<T> p(kQueries * kRow), ds(kQueries * kRow);
    for (int64_t h = group * share; h < (group + 1) * share; ++h)
      for (int64_t i0 = 0; i0 < tokens; i0 += kQueries) {
        const int64_t rows = std::min(kQueries, tokens - i0), end = a.is_causal ? std::min(length, i0 + rows) : length;
        for (int64_t j0 = 0; j0 < end; j0 += kKeys) block(n, h, i0, rows, j0, std::min(kKeys, end - j0), keys, values, p.data(), ds.data());
      }
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
