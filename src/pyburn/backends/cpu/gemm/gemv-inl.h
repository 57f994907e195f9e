// Products with very few rows, which are bound by reading B once; for each instruction set: include after foreach_target.h.
#if defined(PYBURN_GEMV_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_GEMV_INL_H
#undef PYBURN_GEMV_INL_H
#else
#define PYBURN_GEMV_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/gemm/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c[0, n) += sum over `rows` of x[r] * b[r][0, n). Handles several rows per pass, so that c is loaded and stored less often.
template <int rows, class T>
void add_scaled_rows(int64_t n, const T* x, const T* b, int64_t b_row, T* c) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    auto sum = hn::LoadU(d, c + j);
    HWY_UNROLL(8)
    for (int r = 0; r < rows; ++r) sum = hn::MulAdd(hn::Set(d, x[r]), hn::LoadU(d, b + r * b_row + j), sum);
    hn::StoreU(sum, d, c + j);
  }
  for (; j < n; ++j)
    for (int r = 0; r < rows; ++r) c[j] += x[r] * b[r * b_row + j];
}

// c (1 x n) = or += x (1 x k) B (k x n); the rows of B are contiguous.
template <class T>
void row_times_matrix(int64_t n, int64_t k, const T* x, const T* b, int64_t b_row, T* c, bool accumulate) {
  constexpr int64_t kStrip = 16384 / int64_t(sizeof(T));  // block of c that stays in L1 between passes
  for (int64_t j = 0; j < n; j += kStrip) {
    const int64_t width = std::min(kStrip, n - j);
    if (!accumulate) std::fill_n(c + j, width, T(0));
    int64_t p = 0;
    for (; p + 8 <= k; p += 8) add_scaled_rows<8>(width, x + p, b + p * b_row + j, b_row, c + j);
    for (; p < k; ++p) add_scaled_rows<1>(width, x + p, b + p * b_row + j, b_row, c + j);
  }
}

// Dot products of `rows` rows of A with `columns` columns of B, all contiguous along k.
template <int rows, int columns, class T>
void dot_tile(int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_column, Matrix<T> c, bool accumulate) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[rows][columns];
  HWY_UNROLL(4)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(4)
    for (int j = 0; j < columns; ++j) sum[r][j] = hn::Zero(d);
  }
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
    hn::Vec<decltype(d)> left[rows];
    HWY_UNROLL(4)
    for (int r = 0; r < rows; ++r) left[r] = hn::LoadU(d, a + r * a_row + p);
    HWY_UNROLL(4)
    for (int j = 0; j < columns; ++j) {
      const auto right = hn::LoadU(d, b + j * b_column + p);
      HWY_UNROLL(4)
      for (int r = 0; r < rows; ++r) sum[r][j] = hn::MulAdd(left[r], right, sum[r][j]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(4)
    for (int j = 0; j < columns; ++j) {
      T total = hn::GetLane(hn::SumOfLanes(d, sum[r][j]));
      for (int64_t q = p; q < k; ++q) total += a[r * a_row + q] * b[j * b_column + q];
      T& to = c.data[r * c.row + j * c.column];
      to = accumulate ? to + total : total;
    }
  }
}

template <int columns, class T>
void dot_tile(int64_t rows, int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_column, Matrix<T> c, bool accumulate) {
  switch (rows) {
    case 1:
      return dot_tile<1, columns>(k, a, a_row, b, b_column, c, accumulate);
    case 2:
      return dot_tile<2, columns>(k, a, a_row, b, b_column, c, accumulate);
    case 3:
      return dot_tile<3, columns>(k, a, a_row, b, b_column, c, accumulate);
    default:
      return dot_tile<4, columns>(k, a, a_row, b, b_column, c, accumulate);
  }
}

// C (m x n) = A B, where the rows of A and the columns of B are contiguous. Each column of B is read once, for all rows.
template <class T>
void multiply_by_dots(
    int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_column, Matrix<T> c, bool accumulate) {
  constexpr int wide = 4;                                   // number of columns for which A is read again
  constexpr int64_t most_rows = kTileVectors == 4 ? 4 : 3;  // 16 or 12 sums
  for (int64_t j = 0; j < n;) {
    const bool whole = j + wide <= n;
    for (int64_t i = 0; i < m; i += most_rows) {
      const Matrix<T> to{c.data + i * c.row + j * c.column, c.row, c.column};
      const int64_t rows = std::min(most_rows, m - i);
      if (whole) dot_tile<wide>(rows, k, a + i * a_row, a_row, b + j * b_column, b_column, to, accumulate);
      else dot_tile<1>(rows, k, a + i * a_row, a_row, b + j * b_column, b_column, to, accumulate);
    }
    j += whole ? wide : 1;
  }
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
