// bmm and bmm_plus.
#include "pyburn/ops/matmul.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Integers: no vectors, but rows of C in parallel.
void gemm_plus(
    int64_t m, int64_t n, int64_t k, Matrix<const int64_t> a, Matrix<const int64_t> b, Matrix<const int64_t> start, Matrix<int64_t> c) {
  parallel_for(m, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t* row = c.data + i * c.row;
      for (int64_t j = 0; j < n; ++j) row[j * c.column] = start.data ? start.data[i * start.row + j * start.column] : 0;
      for (int64_t p = 0; p < k; ++p) {
        const auto x = uint64_t(a.data[i * a.row + p * a.column]);  // wraps around: computed without sign
        const int64_t* other = b.data + p * b.row;
        for (int64_t j = 0; j < n; ++j) row[j * c.column] = int64_t(uint64_t(row[j * c.column]) + x * uint64_t(other[j * b.column]));
      }
    }
  });
}

// C = start + A B for each of a batch; start is null where nothing is added.
template <class T>
void products(const TensorHandle* start, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  constexpr int64_t kSmall = 1 << 20, kChunk = 1 << 18;  // multiply-adds: of a product too small to split, and of a chunk of such
  const int64_t batch = a.shape()[0], m = a.shape()[1], k = a.shape()[2], n = b.shape()[2], work = m * n * k;
  const Dims &sa = a.strides(), &sb = b.strides(), &sc = c.strides(), &ss = (start ? *start : c).strides();
  const T *left = a.data<T>(), *right = b.data<T>(), *added = start ? start->data<T>() : nullptr;
  T* result = c.data<T>();
  auto multiply = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      gemm_plus(m, n, k, Matrix<const T>{left + i * sa[0], sa[1], sa[2]}, Matrix<const T>{right + i * sb[0], sb[1], sb[2]},
          Matrix<const T>{added ? added + i * ss[0] : nullptr, ss[1], ss[2]}, Matrix<T>{result + i * sc[0], sc[1], sc[2]});
  };
  if (work > kSmall && batch < 4 * num_threads()) multiply(0, batch);  // each product uses all threads
  else parallel_for(batch, std::max<int64_t>(1, kChunk / std::max<int64_t>(1, work)), multiply);
}
template <class T>
void bmm(const NoAttrs&, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  products<T>(nullptr, a, b, c);
}
template <class T>
void bmm_plus(const NoAttrs&, const TensorHandle& start, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  products<T>(&start, a, b, c);
}

// float16, bfloat16 and small integers: through their compute dtype.
void converted_products(const TensorHandle* start, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  const DType compute = is_floating(a.dtype()) ? DType::float32 : DType::int64;
  const TensorHandle ac = converted(a, compute), bc = converted(b, compute), sc = start ? converted(*start, compute) : TensorHandle();
  TensorHandle cc = scratch(c, compute);
  compute == DType::float32 ? products<float>(start ? &sc : nullptr, ac, bc, cc) : products<int64_t>(start ? &sc : nullptr, ac, bc, cc);
  convert_into(cc, c);
}
void bmm_converted(const NoAttrs&, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) { converted_products(nullptr, a, b, c); }
void bmm_plus_converted(const NoAttrs&, const TensorHandle& start, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  converted_products(&start, a, b, c);
}

}  // namespace

void register_matmul(KernelTable& kernels) {
  kernels.add_for_all<bmm_converted>(op::bmm);
  kernels.add<bmm<float>>(op::bmm, DType::float32);
  kernels.add<bmm<double>>(op::bmm, DType::float64);
  kernels.add<bmm<int64_t>>(op::bmm, DType::int64);
  kernels.add_for_all<bmm_plus_converted>(op::bmm_plus);
  kernels.add<bmm_plus<float>>(op::bmm_plus, DType::float32);
  kernels.add<bmm_plus<double>>(op::bmm_plus, DType::float64);
  kernels.add<bmm_plus<int64_t>>(op::bmm_plus, DType::int64);
}

}  // namespace pyburn::cpu
