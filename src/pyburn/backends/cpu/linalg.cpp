// Linear systems: LU with the largest pivots, triangles, Cholesky. Matrices are small and many: one is a task.
#include "pyburn/ops/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/linalg.h"
#include "pyburn/support/interrupt.h"

namespace pyburn::cpu {
namespace {

// row[j] -= factor * other[j]
template <class T>
void subtract(T* row, T factor, const T* other, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] -= factor * other[j];
}

// LU factors of (rows, columns) in place with partial pivoting; calls `exchanged(i, j)` for every exchange of rows. Returns the sign of the
// permutation.
template <class T, class Exchanged>
int factorise(T* a, int64_t rows, int64_t columns, Exchanged exchanged) {
  int sign = 1;
  InterruptTicker ticker;
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    ticker.work((rows - k) * (columns - k));
    int64_t best = k;
    for (int64_t i = k + 1; i < rows; ++i)
      if (std::abs(a[i * columns + k]) > std::abs(a[best * columns + k])) best = i;
    if (best != k) {
      std::swap_ranges(a + k * columns, a + (k + 1) * columns, a + best * columns);
      exchanged(k, best);
      sign = -sign;
    }
    if (a[k * columns + k] == T(0)) continue;
    for (int64_t i = k + 1; i < rows; ++i) {
      const T factor = a[i * columns + k] /= a[k * columns + k];
      if (factor != T(0)) subtract(a + i * columns + k + 1, factor, a + k * columns + k + 1, columns - k - 1);
    }
  }
  return sign;
}

// X of A X = B in place of B (n, columns), for a triangle A with any strides.
template <class T>
void solve_triangle(const T* a, int64_t row, int64_t column, int64_t n, bool upper, bool unit, T* b, int64_t columns) {
  InterruptTicker ticker;
  for (int64_t step = 0; step < n; ++step) {
    ticker.work(step * columns);
    const int64_t i = upper ? n - 1 - step : step;
    for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j)
      subtract(b + i * columns, a[i * row + j * column], b + j * columns, columns);
    if (unit) continue;
    const T pivot = a[i * row + i * column];
    for (int64_t j = 0; j < columns; ++j) b[i * columns + j] /= pivot;
  }
}

template <class T>
void solve(const NoAttrs&, const TensorHandle& a, const TensorHandle& b, TensorHandle& x) {
  const Matrices<T> as(a), bs(b);
  const MatricesOut<T> xs(x);
  for_matrices(as, x.numel(), [&](int64_t k) {
    const int64_t n = as.rows, columns = bs.columns;
    std::vector<T> lu(as[k], as[k] + n * n);
    T* to = xs[k];
    std::copy_n(bs[k], n * columns, to);
    factorise(lu.data(), n, n, [&](int64_t i, int64_t j) { std::swap_ranges(to + i * columns, to + (i + 1) * columns, to + j * columns); });
    for (int64_t i = 0; i < n; ++i)
      require<ValueError>(lu[size_t(i * n + i)] != T(0), "the input matrix is singular: got a pivot of 0 in row {} of matrix {}", i, k);
    solve_triangle(lu.data(), n, 1, n, false, true, to, columns);
    solve_triangle(lu.data(), n, 1, n, true, false, to, columns);
  });
}

template <class T>
void lu(const NoAttrs&, Inputs in, Outputs out) {
  const Matrices<T> as(*in[0]);
  const PlainTarget factors(out[0], dtype_of<T>), pivots(out[1], DType::int32);
  const int64_t size = as.rows * as.columns, diagonal = std::min(as.rows, as.columns);
  for_matrices(as, out[0].numel() + out[1].numel(), [&](int64_t k) {
    T* to = factors.template data<T>() + k * size;
    int32_t* row = pivots.template data<int32_t>() + k * diagonal;
    std::copy_n(as[k], size, to);
    for (int64_t i = 0; i < diagonal; ++i) row[i] = int32_t(i + 1);  // rows are counted from 1, as LAPACK does
    factorise(to, as.rows, as.columns, [&](int64_t i, int64_t j) { row[i] = int32_t(j + 1); });
  });
  factors.finish();
  pivots.finish();
}

template <class T>
void slogdet(const NoAttrs&, Inputs in, Outputs out) {
  const Matrices<T> as(*in[0]);
  const PlainTarget signs(out[0], dtype_of<T>), logs(out[1], dtype_of<T>);
  for_matrices(as, out[0].numel(), [&](int64_t k) {
    const int64_t n = as.rows;
    std::vector<T> lu(as[k], as[k] + n * n);
    double sign = factorise(lu.data(), n, n, [](int64_t, int64_t) {}), log = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double pivot = double(lu[size_t(i * n + i)]);
      sign *= pivot > 0 ? 1 : pivot < 0 ? -1 : pivot;
      log += std::log(std::abs(pivot));
    }
    signs.template data<T>()[k] = T(sign);
    logs.template data<T>()[k] = T(log);
  });
  signs.finish();
  logs.finish();
}

template <class T>
void solve_triangular(const Triangular& a, const TensorHandle& m, const TensorHandle& b, TensorHandle& x) {
  const Matrices<T> ms(m), bs(b);
  const MatricesOut<T> xs(x);
  for_matrices(ms, x.numel(), [&](int64_t k) {
    const int64_t n = ms.rows;
    if (a.left) {
      std::copy_n(bs[k], n * bs.columns, xs[k]);
      return solve_triangle(ms[k], n, 1, n, a.upper, a.unit, xs[k], bs.columns);
    }
    // X A = B: with transposes, A^T X^T = B^T.
    std::vector<T> turned(size_t(n * bs.rows));
    for (int64_t i = 0; i < bs.rows; ++i)
      for (int64_t j = 0; j < n; ++j) turned[size_t(j * bs.rows + i)] = bs[k][i * n + j];
    solve_triangle(ms[k], 1, n, n, !a.upper, a.unit, turned.data(), bs.rows);
    for (int64_t i = 0; i < bs.rows; ++i)
      for (int64_t j = 0; j < n; ++j) xs[k][i * n + j] = turned[size_t(j * bs.rows + i)];
  });
}

template <class T>
void cholesky(const Cholesky& a, const TensorHandle& m, TensorHandle& l_) {
  const Matrices<T> ms(m);
  const MatricesOut<T> ls(l_);
  for_matrices(ms, l_.numel(), [&](int64_t k) {
    const int64_t n = ms.rows;
    std::vector<T> l(size_t(n * n), T(0));
    auto given = [&](int64_t i, int64_t j) { return a.upper ? ms[k][j * n + i] : ms[k][i * n + j]; };
    InterruptTicker ticker;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        ticker.work(j);
        double sum = double(given(i, j));
        for (int64_t p = 0; p < j; ++p) sum -= double(l[size_t(i * n + p)]) * double(l[size_t(j * n + p)]);
        if (i != j) {
          l[size_t(i * n + j)] = T(sum / double(l[size_t(j * n + j)]));
          continue;
        }
        require<ValueError>(
            sum > 0, "the input is not positive-definite: got a leading minor of order {} in matrix {} that is not", i + 1, k);
        l[size_t(i * n + i)] = T(std::sqrt(sum));
      }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) ls[k][i * n + j] = a.upper ? l[size_t(j * n + i)] : l[size_t(i * n + j)];
  });
}

template <class T>
void add_linalg(KernelTable& kernels) {
  kernels.add<solve<T>>(op::_linalg_solve, dtype_of<T>);
  kernels.add<lu<T>>(op::_linalg_lu, dtype_of<T>);
  kernels.add<slogdet<T>>(op::linalg_slogdet, dtype_of<T>);
  kernels.add<solve_triangular<T>>(op::linalg_solve_triangular, dtype_of<T>);
  kernels.add<cholesky<T>>(op::linalg_cholesky, dtype_of<T>);
}

}  // namespace

void register_linalg(KernelTable& kernels) {
  add_linalg<float>(kernels);
  add_linalg<double>(kernels);
}

}  // namespace pyburn::cpu
