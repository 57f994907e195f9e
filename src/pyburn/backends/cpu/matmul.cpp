// bmm.
#include "pyburn/ops/matmul.h"

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

template <class T>
void plain_gemm(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool accumulate) {
  parallel_for(m, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = c.data + i * c.row;
      if (!accumulate)
        for (int64_t j = 0; j < n; ++j) row[j * c.column] = 0;
      for (int64_t p = 0; p < k; ++p) {
        const T x = a.data[i * a.row + p * a.column];
        const T* other = b.data + p * b.row;
        for (int64_t j = 0; j < n; ++j) row[j * c.column] += x * other[j * b.column];
      }
    }
  });
}

template <class T>
void bmm(const NoAttrs&, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  const int64_t m = a.shape()[1], k = a.shape()[2], n = b.shape()[2];
  for (int64_t i = 0; i < a.shape()[0]; ++i) {
    const Matrix<const T> left{a.data<T>() + i * a.strides()[0], a.strides()[1], a.strides()[2]};
    const Matrix<const T> right{b.data<T>() + i * b.strides()[0], b.strides()[1], b.strides()[2]};
    const Matrix<T> result{c.data<T>() + i * c.strides()[0], c.strides()[1], c.strides()[2]};
    if constexpr (std::is_floating_point_v<T>) gemm(m, n, k, left, right, result);
    else plain_gemm<T>(m, n, k, left, right, result, false);
  }
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

void gemm(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate) {
  plain_gemm<float>(m, n, k, a, b, c, accumulate);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool accumulate) {
  plain_gemm<double>(m, n, k, a, b, c, accumulate);
}

void register_matmul(KernelTable& kernels) {
  kernels.add_for_all<bmm_converted>(op::bmm);
  kernels.add<bmm<float>>(op::bmm, DType::float32);
  kernels.add<bmm<double>>(op::bmm, DType::float64);
  kernels.add<bmm<int64_t>>(op::bmm, DType::int64);
}

}  // namespace pyburn::cpu
