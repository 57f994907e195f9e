// The matrix product: B is packed into panels that stay in L2, A is read in place, tiles of C live in registers. Work is cut
// along rows and columns of C only, and every element of C is summed in one order, so the number of threads changes nothing.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <array>
#include <utility>

#include "pyburn/backends/cpu/gemm-inl.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/gemv-inl.h"
#include "pyburn/backends/cpu/pack-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kFewRows = 64, kShallow = 1024;   // up to here B is used too rarely to be packed into panels beforehand
constexpr int64_t kCopiedRows = 24;                 // from here on a slice of it is worth a copy in L1
constexpr int64_t kDotRows = 32, kDotLength = 128;  // the same where B would have to be transposed, too
constexpr int64_t kParallelWork = 1 << 18;          // multiply-adds that are worth a thread: some 5 microseconds
constexpr int64_t kBlockBytes = 512 * 1024;         // of packed B: half of a typical L2
constexpr int64_t kDepthBytes = 2048;               // of k per block: 6 rows of A stay in L1

template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<const T> a, b;
  Matrix<T> c;
  bool accumulate;

  // Rows [i, i + rows) and columns [j, j + columns) of the result.
  Product part(int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    return {rows, columns, k, {a.data + i * a.row, a.row, a.column}, {b.data + j * b.column, b.row, b.column},
        {c.data + i * c.row + j * c.column, c.row, c.column}, accumulate};
  }
  Product transposed() const {
    return {n, m, k, {b.data, b.column, b.row}, {a.data, a.column, a.row}, {c.data, c.column, c.row}, accumulate};
  }
  int64_t work() const { return m * n * k; }
};

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Rows of A and C contiguous, any B.
template <class T>
void multiply_packed(const Product<T>& p) {
  constexpr int64_t panel = kPanel<T>, vector = kVector<T>, depth = kDepthBytes / int64_t(sizeof(T));
  const int64_t k_blocks = (p.k + depth - 1) / depth, k_step = (p.k + k_blocks - 1) / k_blocks;
  const int64_t n_step = std::max(panel, kBlockBytes / int64_t(sizeof(T)) / k_step / panel * panel);
  ScratchBuffer<T> packed(k_step * rounded_up(std::min(n_step, p.n), vector));
  for (int64_t j0 = 0; j0 < p.n; j0 += n_step)
    for (int64_t k0 = 0; k0 < p.k; k0 += k_step) {
      const int64_t columns = std::min(n_step, p.n - j0), depth_here = std::min(k_step, p.k - k0);
      const bool accumulate = p.accumulate || k0 > 0;
      pack_panels(depth_here, columns, {p.b.data + k0 * p.b.row + j0 * p.b.column, p.b.row, p.b.column}, panel, vector, packed.data());
      for (int64_t i = 0; i < p.m; i += kTileRows) {
        const int64_t rows = std::min<int64_t>(kTileRows, p.m - i);
        const T* b = packed.data();
        for (int64_t j = 0; j < columns; j += panel) {
          const int64_t width = std::min(panel, columns - j), stride = rounded_up(width, vector);
          multiply_tile_for<T>(rows, width)(
              depth_here, p.a.data + i * p.a.row + k0, p.a.row, b, stride, p.c.data + i * p.c.row + j0 + j, p.c.row, width, accumulate);
          b += depth_here * stride;
        }
      }
    }
}

// Few rows: a slice of B that fits in L1 meets all rows before the next one is read. Rows of A, B and C contiguous. Where there are
// rows enough the slice is copied if its rows are a power of two apart, because their lines drive each other out of the cache.
template <class T>
void multiply_few_rows(const Product<T>& p) {
  constexpr int64_t panel = kPanel<T>, vector = kVector<T>, k_step = 128;
  const bool copies = p.m > kFewRows || (p.m >= kCopiedRows && p.b.row * int64_t(sizeof(T)) % 512 == 0);
  for (int64_t j = 0; j < p.n; j += panel) {
    const int64_t width = std::min(panel, p.n - j), whole = copies ? 0 : width / vector * vector, rest = width - whole;
    HWY_ALIGN T slice[k_step * panel];  // else only the last columns, where a whole vector would reach over the end of B
    const int64_t stride = rounded_up(rest, vector);
    for (int64_t k0 = 0; k0 < p.k; k0 += k_step) {
      const int64_t depth = std::min(k_step, p.k - k0);
      const bool accumulate = p.accumulate || k0 > 0;
      const T* b = p.b.data + k0 * p.b.row + j;
      if (rest) pack_panels<T>(depth, rest, {b + whole, p.b.row, 1}, panel, vector, slice);
      for (int64_t i = 0; i < p.m; i += kTileRows) {
        const int64_t rows = std::min<int64_t>(kTileRows, p.m - i);
        const T* a = p.a.data + i * p.a.row + k0;
        T* c = p.c.data + i * p.c.row + j;
        if (whole) multiply_tile_for<T>(rows, whole)(depth, a, p.a.row, b, p.b.row, c, p.c.row, whole, accumulate);
        if (rest) multiply_tile_for<T>(rows, rest)(depth, a, p.a.row, slice, stride, c + whole, p.c.row, rest, accumulate);
      }
    }
  }
}

// Calls multiply(part) for a grid of parts, about one per thread (two where the work is large), never below kParallelWork.
template <class T, class Multiply>
void in_parts(const Product<T>& p, int64_t row_unit, int64_t column_unit, Multiply multiply) {
  const int64_t threads = num_threads(), most = p.work() >> 27 ? 2 * threads : threads;
  const int64_t parts = threads == 1 ? 1 : std::min(most, p.work() / kParallelWork);
  if (parts <= 1) return multiply(p);
  const int64_t row_units = (p.m + row_unit - 1) / row_unit, column_units = (p.n + column_unit - 1) / column_unit;
  int64_t down = 1, across = 1;
  while (down * across < parts) {
    const bool can_go_down = down < row_units, can_go_across = across < column_units;
    if (!can_go_down && !can_go_across) break;
    if (can_go_across && (!can_go_down || p.n * down >= p.m * across)) ++across;
    else ++down;
  }
  parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t y = t / across, x = t % across;
      const int64_t i = row_units * y / down * row_unit, i_end = std::min(p.m, row_units * (y + 1) / down * row_unit);
      const int64_t j = column_units * x / across * column_unit, j_end = std::min(p.n, column_units * (x + 1) / across * column_unit);
      if (i < i_end && j < j_end) multiply(p.part(i, i_end - i, j, j_end - j));
    }
  });
}

// Rows of C contiguous.
template <class T>
void multiply_ordered(const Product<T>& p) {
  if (p.a.column != 1) {  // A's rows contiguous; a stride that is no power of two spreads them over the cache
    const int64_t stride = p.k + 16;
    ScratchBuffer<T> rows(p.m * stride);
    parallel_for(p.m, std::max<int64_t>(16, rounded_up(kParallelWork / 4 / p.k, 16)), [&](int64_t begin, int64_t end) {
      copy_matrix(end - begin, p.k, {p.a.data + begin * p.a.row, p.a.row, p.a.column}, rows.data() + begin * stride, stride);
    });
    Product<T> q = p;
    q.a = {rows.data(), stride, 1};
    return multiply_ordered(q);
  }
  const bool dots = p.b.row == 1 && p.b.column != 1;
  if (p.m == 1 && p.b.column == 1)
    return in_parts(p, 1, 64, [](const Product<T>& q) { row_times_matrix(q.n, q.k, q.a.data, q.b.data, q.b.row, q.c.data, q.accumulate); });
  if (p.m <= kDotRows && dots && (p.m <= 4 || p.k >= kDotLength))
    return in_parts(p, kDotRows, 16,
        [](const Product<T>& q) { multiply_by_dots(q.m, q.n, q.k, q.a.data, q.a.row, q.b.data, q.b.column, q.c, q.accumulate); });
  const bool shallow = p.k <= kShallow;  // C is read and written again for every slice of B along k
  if (p.m <= (shallow ? 2 * kFewRows : kFewRows) && p.b.column == 1) return in_parts(p, 8 * kTileRows, kPanel<T>, multiply_few_rows<T>);
  in_parts(p, kTileRows, kPanel<T>, multiply_packed<T>);
}

template <class T>
void multiply(Product<T> p) {
  if (p.m == 0 || p.n == 0) return;
  if ((p.n == 1 && p.m > 1) || (p.c.column != 1 && p.c.row == 1)) p = p.transposed();
  if (p.n == 1) p.c.column = p.b.column = 1;
  if (p.k == 1) p.a.column = 1;
  if (p.c.column == 1 && p.k > 0) return multiply_ordered(p);
  if (p.k == 0) {
    for (int64_t i = 0; i < p.m && !p.accumulate; ++i)
      for (int64_t j = 0; j < p.n; ++j) p.c.data[i * p.c.row + j * p.c.column] = T(0);
    return;
  }
  ScratchBuffer<T> result(p.m * p.n);  // C has no contiguous axis: by way of a matrix that has one
  Product<T> q = p;
  q.c = {result.data(), p.n, 1};
  q.accumulate = false;
  multiply_ordered(q);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T& to = p.c.data[i * p.c.row + j * p.c.column];
      to = p.accumulate ? to + result.data()[i * p.n + j] : result.data()[i * p.n + j];
    }
}

void multiply_float(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate) {
  multiply<float>({m, n, k, a, b, c, accumulate});
}
void multiply_double(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool accumulate) {
  multiply<double>({m, n, k, a, b, c, accumulate});
}
void transpose_float(int64_t rows, int64_t columns, const float* from, int64_t from_row, float* to, int64_t to_row) {
  transpose(rows, columns, from, from_row, to, to_row);
}
void transpose_double(int64_t rows, int64_t columns, const double* from, int64_t from_row, double* to, int64_t to_row) {
  transpose(rows, columns, from, from_row, to, to_row);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);
HWY_EXPORT(transpose_float);
HWY_EXPORT(transpose_double);

void gemm(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(m, n, k, a, b, c, accumulate);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(multiply_double)(m, n, k, a, b, c, accumulate);
}
void transpose_matrix(int64_t rows, int64_t columns, const float* from, int64_t from_row, float* to, int64_t to_row) {
  HWY_DYNAMIC_DISPATCH(transpose_float)(rows, columns, from, from_row, to, to_row);
}
void transpose_matrix(int64_t rows, int64_t columns, const double* from, int64_t from_row, double* to, int64_t to_row) {
  HWY_DYNAMIC_DISPATCH(transpose_double)(rows, columns, from, from_row, to, to_row);
}

}  // namespace pyburn::cpu
#endif
