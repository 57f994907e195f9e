// Orthogonal factors: QR by Householder's reflections, eigenvalues and singular values by Jacobi's rotations. Computed in double precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/linalg.h"
#include "pyburn/ops/linalg.h"
#include "pyburn/support/interrupt.h"

namespace pyburn::cpu {
namespace {

using Numbers = std::vector<double>;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostSweeps = 60;

// A is (m, n), row-major. Becomes R; q, which is (m, m), becomes Q.
void householder(Numbers& a, int64_t m, int64_t n, Numbers& q) {
  q.assign(size_t(m * m), 0);
  for (int64_t i = 0; i < m; ++i) q[size_t(i * m + i)] = 1;
  Numbers v(static_cast<size_t>(m));
  InterruptTicker ticker;
  for (int64_t k = 0; k < std::min(m - 1, n); ++k) {
    double square = 0;
    for (int64_t i = k + 1; i < m; ++i) square += a[size_t(i * n + k)] * a[size_t(i * n + k)];
    if (square == 0) continue;  // the column is done already
    const double first = a[size_t(k * n + k)], length = std::sqrt(first * first + square), target = first >= 0 ? -length : length;
    for (int64_t i = k; i < m; ++i) v[size_t(i)] = a[size_t(i * n + k)];
    v[size_t(k)] -= target;
    const double scale = 2 / (square + v[size_t(k)] * v[size_t(k)]);
    for (int64_t j = k; j < n; ++j) {  // from the left on A
      ticker.work(m - k);
      double dot = 0;
      for (int64_t i = k; i < m; ++i) dot += v[size_t(i)] * a[size_t(i * n + j)];
      for (int64_t i = k; i < m; ++i) a[size_t(i * n + j)] -= scale * dot * v[size_t(i)];
    }
    for (int64_t i = k + 1; i < m; ++i) a[size_t(i * n + k)] = 0;
    for (int64_t i = 0; i < m; ++i) {  // from the right on Q
      ticker.work(m - k);
      double dot = 0;
      for (int64_t j = k; j < m; ++j) dot += q[size_t(i * m + j)] * v[size_t(j)];
      for (int64_t j = k; j < m; ++j) q[size_t(i * m + j)] -= scale * dot * v[size_t(j)];
    }
  }
}

template <class T>
void qr(const Qr& a, Inputs in, Outputs out) {
  const Matrices<T> as(*in[0]);
  const MatricesOut<T> qs(out[0], a.mode == QrMode::r ? 1 : 2), rs(out[1]);
  const int64_t m = as.rows, n = as.columns, k = a.mode == QrMode::complete ? m : std::min(m, n);
  for_matrices(as, out[0].numel() + out[1].numel(), [&](int64_t index) {
    Numbers r(as[index], as[index] + m * n), q;
    householder(r, m, n, q);
    std::copy_n(r.begin(), k * n, rs[index]);
    if (a.mode == QrMode::r) return;
    for (int64_t i = 0; i < m; ++i) std::copy_n(q.begin() + i * m, k, qs[index] + i * k);
  });
}

// Cosine and sine of the rotation that makes the off-diagonal element of [[p, o], [o, q]] zero.
struct Rotation {
  double c, s;
  Rotation(double p, double q, double o) {
    const double theta = (q - p) / (2 * o), t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::hypot(theta, 1.0));
    c = 1 / std::sqrt(t * t + 1);
    s = t * c;
  }
  void operator()(double& x, double& y) const {
    const double before = x;
    x = c * before - s * y;
    y = s * before + c * y;
  }
};

std::vector<int64_t> order_of(const Numbers& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
      [&](int64_t i, int64_t j) { return descending ? values[size_t(i)] > values[size_t(j)] : values[size_t(i)] < values[size_t(j)]; });
  return order;
}

// Rotations make a symmetric matrix diagonal, pair by pair, until nothing off the diagonal counts any more.
template <class T>
void eigh(const Eigh& a, Inputs in, Outputs out) {
  const Matrices<T> as(*in[0]);
  const MatricesOut<T> values(out[0], 1), vectors(out[1]);
  const int64_t n = as.rows;
  for_matrices(as, out[0].numel() + out[1].numel(), [&](int64_t index) {
    Numbers m(size_t(n * n)), v(size_t(n * n), 0);
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) {
      v[size_t(i * n + i)] = 1;
      for (int64_t j = 0; j < n; ++j) {
        m[size_t(i * n + j)] = double(as[index][(i > j) != a.upper ? i * n + j : j * n + i]);
        norm += m[size_t(i * n + j)] * m[size_t(i * n + j)];
      }
    }
    require<ValueError>(std::isfinite(norm), "expected finite elements: got a matrix {} with infinities or NaN", index);
    const double least = kEpsilon * std::sqrt(norm) / double(std::max<int64_t>(n, 1));
    bool done = false;
    InterruptTicker ticker;
    for (int sweep = 0; sweep < kMostSweeps && !done; ++sweep) {
      done = true;
      for (int64_t p = 0; p < n; ++p)
        for (int64_t q = p + 1; q < n; ++q) {
          ticker.work(1);
          if (std::abs(m[size_t(p * n + q)]) <= least) continue;
          done = false;
          ticker.work(3 * n);
          const Rotation rotate(m[size_t(p * n + p)], m[size_t(q * n + q)], m[size_t(p * n + q)]);
          for (int64_t k = 0; k < n; ++k) rotate(m[size_t(k * n + p)], m[size_t(k * n + q)]);
          for (int64_t k = 0; k < n; ++k) rotate(m[size_t(p * n + k)], m[size_t(q * n + k)]);
          for (int64_t k = 0; k < n; ++k) rotate(v[size_t(p * n + k)], v[size_t(q * n + k)]);  // vectors are rows here
        }
    }
    Numbers diagonal(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) diagonal[size_t(i)] = m[size_t(i * n + i)];
    const std::vector<int64_t> order = order_of(diagonal, false);
    for (int64_t j = 0; j < n; ++j) {
      values[index][j] = T(diagonal[size_t(order[size_t(j)])]);
      for (int64_t i = 0; i < n; ++i) vectors[index][i * n + j] = T(v[size_t(order[size_t(j)] * n + i)]);
    }
  });
}

// Rows of w (k, m) become orthogonal by rotations from the left, which v (k, n) notes.
void orthogonalise(Numbers& w, int64_t m, Numbers& v, int64_t n, int64_t k) {
  bool done = false;
  InterruptTicker ticker;
  for (int sweep = 0; sweep < kMostSweeps && !done; ++sweep) {
    done = true;
    for (int64_t p = 0; p < k; ++p)
      for (int64_t q = p + 1; q < k; ++q) {
        ticker.work(3 * m);
        double *x = &w[size_t(p * m)], *y = &w[size_t(q * m)], xx = 0, yy = 0, xy = 0;
        for (int64_t i = 0; i < m; ++i) xx += x[i] * x[i], yy += y[i] * y[i], xy += x[i] * y[i];
        if (std::abs(xy) <= kEpsilon * std::sqrt(xx * yy)) continue;
        done = false;
        const Rotation rotate(xx, yy, xy);
        for (int64_t i = 0; i < m; ++i) rotate(x[i], y[i]);
        for (int64_t i = 0; i < n; ++i) rotate(v[size_t(p * n + i)], v[size_t(q * n + i)]);
      }
  }
}

// `count` orthonormal rows of m numbers, of which those with a value are given: the others are what the unit vectors add to them.
void complete(Numbers& rows, const Numbers& values, int64_t m, int64_t count) {
  int64_t unit = 0;
  InterruptTicker ticker;
  for (int64_t k = 0; k < count; ++k) {
    double* row = &rows[size_t(k * m)];
    if (k < int64_t(values.size()) && values[size_t(k)] > 0) continue;
    for (double length = 0; length < 0.1 && unit < m; ++unit) {
      std::fill_n(row, m, 0.0);
      row[unit] = 1;
      for (int twice = 0; twice < 2; ++twice)
        for (int64_t other = 0; other < k; ++other) {
          ticker.work(2 * m);
          const double dot = std::inner_product(row, row + m, &rows[size_t(other * m)], 0.0);
          for (int64_t i = 0; i < m; ++i) row[i] -= dot * rows[size_t(other * m + i)];
        }
      length = std::sqrt(std::inner_product(row, row + m, row, 0.0));
      for (int64_t i = 0; i < m; ++i) row[i] /= length > 0 ? length : 1;
    }
  }
}

// One-sided: the columns of A (rows, if it is wide) are rotated until they are orthogonal. Their lengths are the singular values.
template <class T>
void svd(const Svd& a, Inputs in, Outputs out) {
  const Matrices<T> as(*in[0]);
  const MatricesOut<T> us(out[0]), ss(out[1], 1), vs(out[2]);
  const bool wide = as.rows < as.columns;
  const int64_t k = std::min(as.rows, as.columns), m = std::max(as.rows, as.columns);
  const int64_t long_count = a.full ? m : k;
  for_matrices(as, out[0].numel() + out[1].numel() + out[2].numel(), [&](int64_t index) {
    Numbers w(size_t(k * m)), v(size_t(k * k), 0);
    for (int64_t i = 0; i < as.rows; ++i)
      for (int64_t j = 0; j < as.columns; ++j) w[size_t(wide ? i * m + j : j * m + i)] = double(as[index][i * as.columns + j]);
    for (int64_t i = 0; i < k; ++i) v[size_t(i * k + i)] = 1;
    require<ValueError>(std::all_of(w.begin(), w.end(), [](double x) { return std::isfinite(x); }),
        "expected finite elements: got a matrix {} with infinities or NaN", index);
    orthogonalise(w, m, v, k, k);
    Numbers lengths(static_cast<size_t>(k));
    for (int64_t i = 0; i < k; ++i)
      lengths[size_t(i)] = std::sqrt(std::inner_product(&w[size_t(i * m)], &w[size_t(i * m)] + m, &w[size_t(i * m)], 0.0));
    const std::vector<int64_t> order = order_of(lengths, true);
    const double least = k ? lengths[size_t(order[0])] * kEpsilon : 0;
    Numbers values(static_cast<size_t>(k)), far(size_t(long_count * m), 0);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t from = order[size_t(i)];
      ss[index][i] = T(lengths[size_t(from)]);
      if (lengths[size_t(from)] <= least) continue;  // no direction of its own
      values[size_t(i)] = lengths[size_t(from)];
      for (int64_t j = 0; j < m; ++j) far[size_t(i * m + j)] = w[size_t(from * m + j)] / lengths[size_t(from)];
    }
    complete(far, values, m, long_count);
    T *u = us[index], *vh = vs[index];
    const int64_t u_columns = wide ? k : long_count;
    for (int64_t i = 0; i < long_count; ++i)
      for (int64_t j = 0; j < m; ++j) (wide ? vh[i * m + j] : u[j * u_columns + i]) = T(far[size_t(i * m + j)]);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < k; ++j) (wide ? u[j * k + i] : vh[i * k + j]) = T(v[size_t(order[size_t(i)] * k + j)]);
  });
}

template <class T>
void add_spectral(KernelTable& kernels) {
  kernels.add<qr<T>>(op::linalg_qr, dtype_of<T>);
  kernels.add<eigh<T>>(op::linalg_eigh, dtype_of<T>);
  kernels.add<svd<T>>(op::linalg_svd, dtype_of<T>);
}

}  // namespace

void register_linalg_spectral(KernelTable& kernels) {
  add_spectral<float>(kernels);
  add_spectral<double>(kernels);
}

}  // namespace pyburn::cpu
