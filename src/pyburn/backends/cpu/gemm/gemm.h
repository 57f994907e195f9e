// One matrix product: C (m x n) = A (m x k) B (k x n), with row and column strides, so that transposes need no copy.
#pragma once
#include <cstdint>

namespace pyburn::cpu {

template <class T>
struct Matrix {
  T* data;
  int64_t row, column;  // strides
};

// An epilogue applied to C piece by piece, by the thread that computed the piece and while it is in its cache. Called for rows [i, i +
// rows) and columns [j, j + columns), once for every element, in any order. It keeps references to its arguments.
class Finish {
 public:
  Finish() = default;
  template <class F>
  explicit Finish(const F& f)
      : call_(
            [](const void* to, int64_t i, int64_t rows, int64_t j, int64_t columns) { (*static_cast<const F*>(to))(i, rows, j, columns); }),
        to_(&f) {}
  explicit operator bool() const { return call_; }
  void operator()(int64_t i, int64_t rows, int64_t j, int64_t columns) const { call_(to_, i, rows, j, columns); }

 private:
  void (*call_)(const void*, int64_t, int64_t, int64_t, int64_t) = nullptr;
  const void* to_ = nullptr;
};

void gemm(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate = false);
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool accumulate = false);
// C = start + A B. All rows of `start` may be the same (stride 0: a bias).
void gemm_plus(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<const float> start, Matrix<float> c,
    Finish finish = {});
void gemm_plus(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<const double> start,
    Matrix<double> c, Finish finish = {});

// A right factor (depth x columns) of many products, packed once, and the part that one product uses: from row k0 and column j0, where j0
// is a multiple of kPackedUnit.
template <class T>
struct Packed {
  const T* data;
  int64_t depth, columns;
  int64_t k0 = 0, j0 = 0;
};
inline constexpr int64_t kPackedUnit = 64;
inline int64_t packed_size(int64_t depth, int64_t columns) { return depth * ((columns + 15) / 16 * 16); }  // number of elements
void pack_right(int64_t k, int64_t n, Matrix<const float> b, float* to);
void pack_right(int64_t k, int64_t n, Matrix<const double> b, double* to);
// Rows of A and C are contiguous.
void gemm_packed(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Packed<float> b, Matrix<float> c, bool accumulate = false);
void gemm_packed(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Packed<double> b, Matrix<double> c, bool accumulate = false);

// to[c][r] = from[r][c] for a matrix of rows x columns. Rows are contiguous and `from_row` and `to_row` apart.
void transpose_matrix(int64_t rows, int64_t columns, const float* from, int64_t from_row, float* to, int64_t to_row);
void transpose_matrix(int64_t rows, int64_t columns, const double* from, int64_t from_row, double* to, int64_t to_row);

}  // namespace pyburn::cpu
