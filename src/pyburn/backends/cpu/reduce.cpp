// Reductions that fold elements one by one: sums, products, extrema, norms, moments. A line per fold.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/reduce.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/reduce_driver.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/moments.h"
#include "pyburn/ops/vector_norm.h"

#ifndef PYBURN_REDUCE_TYPES
#define PYBURN_REDUCE_TYPES
namespace pyburn::cpu {

enum FoldName {
  kSum,
  kMean,
  kProd,
  kNanSum,
  kCount,
  kAmax,
  kAmin,
  kAny,
  kAll,
  kNorm0,
  kNorm1,
  kNorm2,
  kNormP,
  kLargest,
  kSmallest,
  kMoments,
  kFolds
};
using FoldTable = std::array<std::array<FoldFunctions, 6>, kFolds>;  // float double int32 int64 uint64 bool

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class Fold, class T, class R = T>
struct Erased {
  using A = typename Fold::template Partial<T>;
  static void start(void* acc, int64_t n) { std::fill_n(static_cast<A*>(acc), n, Fold::template first<A>()); }
  static void block(const void* p, int64_t kept_stride, int64_t results, int64_t stride, int64_t n, void* acc, double parameter) {
    fold_block<Fold>(static_cast<const T*>(p), kept_stride, results, stride, n, static_cast<A*>(acc), parameter);
  }
  static void join(void* acc, const void* other, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<A*>(acc)[i] = Fold::join(static_cast<A*>(acc)[i], static_cast<const A*>(other)[i]);
  }
  static void finish(const void* acc, int64_t n, int64_t folded, double parameter, void* y, void*, int64_t stride) {
    for (int64_t i = 0; i < n; ++i) static_cast<R*>(y)[i * stride] = R(Fold::finish(static_cast<const A*>(acc)[i], folded, parameter));
  }
  static constexpr FoldFunctions functions{sizeof(T), sizeof(R), sizeof(A), start, block, join, finish};
};

// Mean and variance. A chunk is read twice while it is in the cache: its mean, then the distances from it. Chunks join by
// the formula of Chan, so that no digits are lost where the mean is large.
struct Moments {
  double n, mean, distances;  // the sum of squared distances from the mean
};
void join_moments(Moments& a, const Moments& b) {
  if (b.n == 0) return;
  const double n = a.n + b.n, d = b.mean - a.mean;
  a = {n, a.mean + d * (b.n / n), a.distances + b.distances + d * d * (a.n * b.n / n)};
}
template <class T>
struct ErasedMoments {
  static constexpr int64_t kRun = 4096, kRows = 32;
  static void start(void* acc, int64_t n) { std::fill_n(static_cast<Moments*>(acc), n, Moments{0, 0, 0}); }
  static void block(const void* from, int64_t kept_stride, int64_t results, int64_t stride, int64_t n, void* acc_, double) {
    const T* p = static_cast<const T*>(from);
    Moments* acc = static_cast<Moments*>(acc_);
    if (kept_stride != 1 || results == 1 || stride == 1) {
      for (int64_t r = 0; r < results; ++r)
        for (int64_t j = 0; j < n; j += kRun) {
          const int64_t m = std::min(kRun, n - j);
          const T* run = p + r * kept_stride + j * stride;
          double mean = 0, distances = 0;
          fold_block<Sum>(run, 0, 1, stride, m, &mean);
          mean /= double(m);
          fold_block<SquaredDistance>(run, 0, 1, stride, m, &distances, mean);
          join_moments(acc[r], {double(m), mean, distances});
        }
      return;
    }
    HWY_ALIGN double mean[kResults], distances[kResults];  // down columns, some rows at a time
    for (int64_t j = 0; j < n; j += kRows) {
      const int64_t m = std::min(kRows, n - j);
      const T* rows = p + j * stride;
      std::fill_n(mean, results, 0.0);
      std::fill_n(distances, results, 0.0);
      for (int64_t k = 0; k < m; ++k)
        for (int64_t r = 0; r < results; ++r) mean[r] += double(rows[k * stride + r]);
      for (int64_t r = 0; r < results; ++r) mean[r] /= double(m);
      for (int64_t k = 0; k < m; ++k)
        for (int64_t r = 0; r < results; ++r) {
          const double d = double(rows[k * stride + r]) - mean[r];
          distances[r] += d * d;
        }
      for (int64_t r = 0; r < results; ++r) join_moments(acc[r], {double(m), mean[r], distances[r]});
    }
  }
  static void join(void* acc, const void* other, int64_t n) {
    for (int64_t i = 0; i < n; ++i) join_moments(static_cast<Moments*>(acc)[i], static_cast<const Moments*>(other)[i]);
  }
  static void finish(const void* acc, int64_t n, int64_t folded, double correction, void* y, void* second, int64_t stride) {
    const Moments* m = static_cast<const Moments*>(acc);
    for (int64_t i = 0; i < n; ++i) {
      static_cast<T*>(y)[i * stride] = T(m[i].distances / std::max(double(folded) - correction, 0.0));
      static_cast<T*>(second)[i * stride] = folded ? T(m[i].mean) : std::numeric_limits<T>::quiet_NaN();
    }
  }
  static constexpr FoldFunctions functions{sizeof(T), sizeof(T), sizeof(Moments), start, block, join, finish};
};

template <class Fold>
constexpr std::array<FoldFunctions, 6> all_types() {
  return {Erased<Fold, float>::functions, Erased<Fold, double>::functions, Erased<Fold, int32_t>::functions,
      Erased<Fold, int64_t>::functions, Erased<Fold, uint64_t>::functions};
}
template <class Fold>
constexpr std::array<FoldFunctions, 6> float_types() {
  return {Erased<Fold, float>::functions, Erased<Fold, double>::functions};
}
template <class Fold>
constexpr std::array<FoldFunctions, 6> truth_type() {
  return {FoldFunctions{}, {}, {}, {}, {}, Erased<Fold, uint8_t>::functions};
}
constexpr std::array<FoldFunctions, 6> counting() {
  return {Erased<CountNonzero, float, int64_t>::functions, Erased<CountNonzero, double, int64_t>::functions,
      Erased<CountNonzero, int32_t, int64_t>::functions, Erased<CountNonzero, int64_t>::functions,
      Erased<CountNonzero, uint64_t, int64_t>::functions};
}
FoldTable make_folds() {
  return {all_types<Sum>(), all_types<Mean>(), all_types<Prod>(), all_types<NanSum>(), counting(), all_types<Amax>(), all_types<Amin>(),
      truth_type<Any>(), truth_type<All>(), float_types<CountNonzero>(), float_types<SumAbs>(), float_types<Norm2>(), float_types<NormP>(),
      float_types<OfAbs<Amax>>(), float_types<OfAbs<Amin>>(),
      std::array<FoldFunctions, 6>{ErasedMoments<float>::functions, ErasedMoments<double>::functions}};
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(make_folds);

const FoldFunctions& fold_functions(FoldName name, DType dtype) {
  static const FoldTable table = HWY_DYNAMIC_DISPATCH(make_folds)();
  constexpr DType types[] = {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint64, DType::boolean};
  return table[name][size_t(std::find(types, types + 5, dtype) - types)];
}

// Inputs of other dtypes are converted before, results after.
void fold_into(FoldName name, const Reduce& a, double parameter, const TensorHandle& x, const TensorHandle& y) {
  const DType element = compute_dtype(x.dtype()), result = name == kCount ? DType::int64 : element;
  const TensorHandle from = element == x.dtype() ? x : converted(x, element);
  const TensorHandle to = result == y.dtype() ? y : scratch(y, result);
  reduce_with(fold_functions(name, element), a, parameter, from, to);
  if (!to.is_same(y)) convert_into(to, y);
}
template <FoldName name>
void reduce(const Reduce& a, const TensorHandle& x, TensorHandle& y) {
  fold_into(name, a, 0, x, y);
}
template <FoldName name>
void reduce_truth(const Truth& a, const TensorHandle& x, TensorHandle& y) {  // of bytes, as they are
  reduce_with(fold_functions(name, DType::boolean), a.reduce(), 0, x, y);
}

void vector_norm(const VectorNorm& a, const TensorHandle& x, TensorHandle& y) {
  const double p = a.ord;
  const FoldName name = p == 0 ? kNorm0 : p == 1 ? kNorm1 : p == 2 ? kNorm2 : std::isfinite(p) ? kNormP : p > 0 ? kLargest : kSmallest;
  fold_into(name, a.reduce(), name == kNormP ? p : 0, x, y);
}

void var_mean(const VarMean& a, Inputs in, Outputs out) {
  const DType compute = compute_dtype(in[0]->dtype());
  const TensorHandle x = in[0]->dtype() == compute ? *in[0] : converted(*in[0], compute);
  const bool direct = out[0].dtype() == compute && out[0].layout().strides == out[1].layout().strides;
  const TensorHandle var = direct ? out[0] : scratch(out[0], compute), mean = direct ? out[1] : scratch(out[1], compute);
  reduce_with(fold_functions(kMoments, compute), a.reduce(), a.correction, x, var, &mean);
  if (direct) return;
  convert_into(var, out[0]);
  convert_into(mean, out[1]);
}

}  // namespace

void register_reduce(KernelTable& kernels) {
  kernels.add_for_all<reduce<kSum>>(op::sum);
  kernels.add_for_all<reduce<kMean>>(op::mean);
  kernels.add_for_all<reduce<kProd>>(op::prod);
  kernels.add_for_all<reduce<kNanSum>>(op::nansum);
  kernels.add_for_all<reduce<kCount>>(op::count_nonzero);
  kernels.add_for_all<reduce<kAmax>>(op::amax);
  kernels.add_for_all<reduce<kAmin>>(op::amin);
  kernels.add<reduce_truth<kAny>>(op::any, {DType::boolean, DType::uint8});
  kernels.add<reduce_truth<kAll>>(op::all, {DType::boolean, DType::uint8});
  const auto floats = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  kernels.add<vector_norm>(op::linalg_vector_norm, floats);
  kernels.add<var_mean>(op::var_mean, floats);
}

}  // namespace pyburn::cpu
#endif
