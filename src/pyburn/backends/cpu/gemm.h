// One matrix product: C (m x n) = A (m x k) B (k x n), with row and column strides, so that transposes need no copy.
#pragma once
#include <cstdint>

namespace pyburn::cpu {

template <class T>
struct Matrix {
  T* data;
  int64_t row, column;  // strides
};

void gemm(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate = false);
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool accumulate = false);

}  // namespace pyburn::cpu
