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

// to[c][r] = from[r][c] for a matrix of rows x columns; the rows of both are contiguous, `from_row` and `to_row` apart.
void transpose_matrix(int64_t rows, int64_t columns, const float* from, int64_t from_row, float* to, int64_t to_row);
void transpose_matrix(int64_t rows, int64_t columns, const double* from, int64_t from_row, double* to, int64_t to_row);

}  // namespace pyburn::cpu
