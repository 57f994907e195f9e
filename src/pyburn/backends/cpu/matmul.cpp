// bmm.
#include "pyburn/ops/matmul.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Integers: no vectors, but rows of C in parallel.
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const int64_t> a, Matrix<const int64_t> b, Matrix<int64_t> c) {
  parallel_for(m, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t* row = c.data + i * c.row;
      for (int64_t j = 0; j < n; ++j) row[j * c.column] = 0;
      for (int64_t p = 0; p < k; ++p) {
        const auto x = uint64_t(a.data[i * a.row + p * a.column]);  // wraps around: computed without sign
        const int64_t* other = b.data + p * b.row;
        for (int64_t j = 0; j < n; ++j) row[j * c.column] = int64_t(uint64_t(row[j * c.column]) + x * uint64_t(other[j * b.column]));
      }
    }
  });
}

template <class T>
void bmm(const NoAttrs&, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  constexpr int64_t kSmall = 1 << 20, kChunk = 1 << 18;  // multiply-adds: of a product too small to split, and of a chunk of such
  const int64_t batch = a.shape()[0], m = a.shape()[1], k = a.shape()[2], n = b.shape()[2], work = m * n * k;
  auto matrix = [](const TensorHandle& t, int64_t i) {
    return Matrix<T>{t.data<T>() + i * t.strides()[0], t.strides()[1], t.strides()[2]};
  };
  auto multiply = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Matrix<T> left = matrix(a, i), right = matrix(b, i);
      gemm(m, n, k, {left.data, left.row, left.column}, {right.data, right.row, right.column}, matrix(c, i));
    }
  };
  if (work > kSmall && batch < 4 * num_threads()) multiply(0, batch);  // each product uses all threads
  else parallel_for(batch, std::max<int64_t>(1, kChunk / std::max<int64_t>(1, work)), multiply);
}

// float16, bfloat16 and small integers: through their compute dtype.
void bmm_converted(const NoAttrs& none, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  const DType compute = is_floating(a.dtype()) ? DType::float32 : DType::int64;
  const TensorHandle ac = converted(a, compute), bc = converted(b, compute);
  TensorHandle cc = scratch(c, compute);
  compute == DType::float32 ? bmm<float>(none, ac, bc, cc) : bmm<int64_t>(none, ac, bc, cc);
  convert_into(cc, c);
}

}  // namespace

void register_matmul(KernelTable& kernels) {
  kernels.add_for_all<bmm_converted>(op::bmm);
  kernels.add<bmm<float>>(op::bmm, DType::float32);
  kernels.add<bmm<double>>(op::bmm, DType::float64);
  kernels.add<bmm<int64_t>>(op::bmm, DType::int64);
}

}  // namespace pyburn::cpu
