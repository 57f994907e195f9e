// The matrix product: B is packed into panels that stay in L2, A is read in place, tiles of C live in registers. Work is cut
// along rows and columns of C only, and every element of C is summed in one order, so the number of threads changes nothing.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/gemm/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <array>
#include <new>
#include <utility>

#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/backends/cpu/gemm/gemm_packed.h"
#include "pyburn/backends/cpu/gemm/gemv-inl.h"
#include "pyburn/backends/cpu/gemm/pack-inl.h"
#include "pyburn/backends/cpu/gemm/product_tile-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/cache_size.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_GEMM_TYPES
#define PYBURN_GEMM_TYPES
namespace pyburn::cpu {

template <class T>
struct GemmFunctions {
  void (*multiply)(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<const T> start, Matrix<T> c, Finish);
  void (*multiply_packed)(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Packed<T> b, Matrix<const T> start, Matrix<T> c, Finish);
  void (*pack)(int64_t k, int64_t n, Matrix<const T> b, T* to);
  void (*transpose)(int64_t rows, int64_t columns, const T* from, int64_t from_row, T* to, int64_t to_row);
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kFewRows = 256;   // up to this number the rows of A stay in L2 while all panels of B are used
constexpr int64_t kSliceRows = 64;  // up to here slices of B are so small that they stay in L1
constexpr int64_t kSliceBytes = 32 * 1024;
constexpr int64_t kDotRows = 32, kDotLength = 128;  // up to that many rows dot products are quicker than transposing B
constexpr int64_t kParallelWork = 1 << 18;          // multiply-adds that are worth a thread: some 5 microseconds
constexpr int64_t kDepthBytes = 4096;               // of k per block: 6 rows of A stay in L1
constexpr int64_t kNearBytes = 16 * 1024;           // a B of this size is read in place from L1
constexpr int64_t kThin = 128;                      // columns of C up to which A is not worth a copy
constexpr int64_t kFinished = 512;                  // columns of few rows that are finished together

template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<const T> a, b, start;  // start: added to the product; its data is null for nothing
  Matrix<T> c;
  Finish finish = {};
  int64_t i0 = 0, j0 = 0;  // position of this part in the whole, for `finish`
  bool turned = false;     // the whole is the transpose of what `finish` knows

  // Rows [i, i + rows) and columns [j, j + columns) of the result.
  Product part(int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    return {rows, columns, k, {a.data + i * a.row, a.row, a.column}, {b.data + j * b.column, b.row, b.column},
        {start.data ? start.data + i * start.row + j * start.column : nullptr, start.row, start.column},
        {c.data + i * c.row + j * c.column, c.row, c.column}, finish, i0 + i, j0 + j, turned};
  }
  Product transposed() const {
    return {n, m, k, {b.data, b.column, b.row}, {a.data, a.column, a.row}, {start.data, start.column, start.row}, {c.data, c.column, c.row},
        finish, j0, i0, !turned};
  }
  // The same, with nothing to be done to its result.
  Product unfinished() const {
    Product q = *this;
    q.finish = {};
    return q;
  }
  void finished(int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    if (!finish) return;
    if (turned) finish(j0 + j, columns, i0 + i, rows);
    else finish(i0 + i, rows, j0 + j, columns);
  }
  void finished() const { finished(0, m, 0, n); }
  int64_t work() const { return m * n * k; }
  bool accumulates() const { return start.data == c.data; }
  // The same, adding to C what is there.
  Product accumulating() const {
    Product q = *this;
    q.start = {c.data, c.row, c.column};
    return q;
  }
  // C = start, for the paths that can only add to C.
  Product started() const {
    if (!start.data || accumulates()) return *this;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c.data[i * c.row + j * c.column] = start.data[i * start.row + j * start.column];
    return accumulating();
  }
};

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Room for packed B that stays with its thread, and so in the cache of its core: from the allocator it would come from another one.
template <class T>
T* packing_room(int64_t elements) {
  struct Room {
    std::align_val_t line{64};
    int64_t bytes = 0;
    void* data = nullptr;
    ~Room() { ::operator delete(data, line); }
  };
  thread_local Room room;
  if (const int64_t bytes = elements * int64_t(sizeof(T)); bytes > room.bytes) {
    ::operator delete(std::exchange(room.data, nullptr), room.line);
    room.bytes = 0;
    room.data = ::operator new(size_t(bytes), room.line);
    room.bytes = bytes;
  }
  return static_cast<T*>(room.data);
}

// A slice of B along k, for panels side by side of `width` columns each: packed already, or packed on the way, while the first rows of A
// meet it, or (null) read in place by all rows.
template <class T>
struct Slice {
  int64_t k, width, panels;
  T* packed;
  bool is_packed;
  int64_t stride = rounded_up(width, kVector<T>);  // between the rows of a packed panel
  int64_t panel_step = k * stride;                 // between packed panels
};

// The columns of p that belong to the panels, over one slice of k. p.b is where the slice begins, unless it is packed. What has all of k
// with this slice is finished.
template <LeftOrder order, class T>
void multiply_slice(const Product<T>& p, const Slice<T>& s) {
  const int64_t stride = s.stride, most = rows_of_tile(int((s.width + kVector<T> - 1) / kVector<T>));
  const int64_t tiles = (p.m + most - 1) / most;  // of nearly the same number of rows: a single row would wait for its sums
  TileOfProduct<T> t;
  t.k = s.k;
  t.a_stride = order == LeftOrder::rows ? p.a.row : p.a.column;
  t.start_row = p.start.row;
  t.c_row = p.c.row;
  t.columns = s.width;
  for (int64_t tile = 0, i = 0; tile < tiles; ++tile) {
    const int64_t rows = p.m * (tile + 1) / tiles - i;
    const bool in_place = !s.is_packed && (tile == 0 || !s.packed);
    const TileFunction<T> multiply = in_place ? tile_function<T, order, RightPlace::in_place>(rows, s.width)
                                              : tile_function<T, order, RightPlace::packed>(rows, s.width);
    t.a = p.a.data + i * p.a.row;
    for (int64_t x = 0; x < s.panels; ++x) {
      T* packed = s.packed ? s.packed + x * s.panel_step : nullptr;
      t.b = in_place ? p.b.data + x * s.width : packed;
      t.b_row = in_place ? p.b.row : stride;
      t.kept = packed;
      t.start = p.start.data ? p.start.data + i * p.start.row + x * s.width : nullptr;
      t.c = p.c.data + i * p.c.row + x * s.width;
      multiply(t);
    }
    p.finished(i, rows, 0, s.panels * s.width);
    i += rows;
  }
}

template <class T>
bool is_near(const Product<T>& p) {
  return p.k * p.b.row * int64_t(sizeof(T)) <= kNearBytes;
}

// Few rows: a slice of B that fits in L1 is used for all of them before the next one is read. Rows of B and C are contiguous. If all rows
// fit one tile, each slice is used once; slices as narrow as a cache line are so short that the lines next to them are prefetched.
template <LeftOrder order, bool met_once, class T>
void multiply_in_slices(const Product<T>& p) {
  constexpr int64_t panel = kPanel<T>, row = panel * int64_t(sizeof(T)), depth = met_once && row <= 64 ? 32 : kSliceBytes / row;
  HWY_ALIGN T slice[depth * panel];  // kept there if its lines are a power of two apart, because they drive each other out of the cache
  const bool keeps = p.m > kTileRows && p.b.row * int64_t(sizeof(T)) % 512 == 0 && !is_near(p);
  for (int64_t k0 = 0; k0 < p.k; k0 += depth)  // adjacent slices: they are in the same pages, and their part of A stays in L2
    for (int64_t j = 0; j < p.n; j += panel) {
      const int64_t width = std::min(panel, p.n - j);
      Product<T> q = (k0 > 0 ? p.accumulating() : p).part(0, p.m, j, width).unfinished();
      q.a.data += k0 * p.a.column;
      q.b.data += k0 * p.b.row;
      multiply_slice<order, T>(q, {std::min(depth, p.k - k0), width, 1, keeps ? slice : nullptr, false});
    }
  p.finished();
}

// Rows of C contiguous, rows or columns of A (as `order` says), any B. Where `given` is not null, p.b is a place in it: its columns are
// given->depth apart as far as whole panels go.
template <LeftOrder order, class T>
void multiply_blocks_of(const Product<T>& p, const Packed<T>* given) {
  constexpr int64_t panel = kPanel<T>, depth = kDepthBytes / int64_t(sizeof(T));
  const int64_t k_blocks = (p.k + depth - 1) / depth, k_step = (p.k + k_blocks - 1) / k_blocks;
  // Packed B takes half of L2.
  const int64_t n_step = p.m <= kFewRows ? panel : std::max(panel, l2_cache_bytes() / 2 / int64_t(sizeof(T)) / k_step / panel * panel);
  const bool rows_of_b = p.b.column == 1;
  const bool by_tiles = n_step >= kFinished / 4;  // rows long enough to be finished tile by tile
  InterruptTicker ticker;
  T* packed = given ? nullptr : packing_room<T>(k_step * rounded_up(std::min(n_step, p.n), kVector<T>));
  const int64_t behind = given ? given->columns - (p.b.data - given->data) / given->depth : 0;  // columns of `given` from here on
  for (int64_t j0 = 0, unfinished = 0; j0 < p.n; j0 += n_step) {
    for (int64_t k0 = 0; k0 < p.k; k0 += k_step) {
      ticker.work(p.m * std::min(n_step, p.n - j0) * k_step / 16);
      const int64_t columns = std::min(n_step, p.n - j0), k = std::min(k_step, p.k - k0), panels = columns / panel;
      Product<T> q = (k0 > 0 ? p.accumulating() : p).part(0, p.m, j0, columns);
      if (!by_tiles || k0 + k < p.k) q = q.unfinished();
      q.a.data += k0 * p.a.column;
      if (given) {
        T* at = const_cast<T*>(q.b.data);  // only read: it is packed
        const int64_t row = given->k0 + k0, done = panels * panel;
        if (panels) multiply_slice<order, T>(q, {k, panel, panels, at + row * panel, true, panel, given->depth * panel});
        if (const int64_t rest = columns - done) {
          const int64_t stride = rounded_up(std::min(panel, behind - j0 - done), kVector<T>);
          multiply_slice<order, T>(q.part(0, p.m, done, rest), {k, rest, 1, at + done * given->depth + row * stride, true, stride});
        }
        continue;
      }
      q.b.data += k0 * p.b.row;
      if (!rows_of_b) pack_panels(k, columns, q.b, panel, kVector<T>, packed);
      if (panels) multiply_slice<order, T>(q, {k, panel, panels, packed, !rows_of_b});
      if (const int64_t rest = columns - panels * panel)
        multiply_slice<order, T>(q.part(0, p.m, panels * panel, rest), {k, rest, 1, packed + panels * panel * k, !rows_of_b});
    }
    const int64_t end = std::min(j0 + n_step, p.n);
    if (by_tiles || (end < p.n && end - unfinished < kFinished)) continue;
    p.finished(0, p.m, unfinished, end - unfinished);
    unfinished = end;
  }
}

template <LeftOrder order, class T>
void multiply_blocks(const Product<T>& p) {
  multiply_blocks_of<order>(p, static_cast<const Packed<T>*>(nullptr));
}

// Calls multiply(part) for a grid of parts, about one per thread (two where the work is large), never below kParallelWork.
template <class T, class Multiply>
void in_parts(const Product<T>& p, int64_t row_unit, int64_t column_unit, Multiply multiply, bool whole_rows = false) {
  const int64_t threads = num_threads(), most = p.work() >> 27 ? 2 * threads : threads;
  const int64_t parts = threads == 1 || in_parallel_for() ? 1 : std::min(most, p.work() / kParallelWork);
  if (parts <= 1) return multiply(p);
  const int64_t row_units = (p.m + row_unit - 1) / row_unit, column_units = (p.n + column_unit - 1) / column_unit;
  int64_t down = 1, across = 1;
  while (down * across < parts) {
    const bool can_go_down = down < row_units, can_go_across = across < column_units;
    if (!can_go_down && !can_go_across) break;
    if (can_go_across && (!can_go_down || (!whole_rows && p.n * down >= p.m * across))) ++across;
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

// A as a matrix of contiguous rows, then what is to be done with it.
template <class T, class Multiply>
void with_left_rows(const Product<T>& p, Multiply multiply) {
  constexpr int64_t kCopied = 64;   // of k at a time: lines that follow each other are read soon after each other
  const int64_t stride = p.k + 16;  // no power of two: lines of several rows share the cache
  ScratchBuffer<T> rows(p.m * stride);
  for (int64_t k0 = 0; k0 < p.k; k0 += kCopied)
    copy_matrix(p.m, std::min(kCopied, p.k - k0), {p.a.data + k0 * p.a.column, p.a.row, p.a.column}, rows.data() + k0, stride);
  Product<T> q = p;
  q.a = {rows.data(), stride, 1};
  multiply(q);
}

// Rows of C and of the start contiguous.
template <class T>
void multiply_ordered(const Product<T>& p) {
  const bool left_rows = p.a.column == 1, one_row = p.m == 1 && p.b.column == 1;
  const bool dots = p.m <= kDotRows && p.b.row == 1 && p.b.column != 1 && (p.m <= 4 || p.k >= kDotLength);
  if ((one_row || dots) && !left_rows) return with_left_rows(p, multiply_ordered<T>);
  if (one_row)
    return in_parts(p.started(), 1, 64, [](const Product<T>& q) {
      row_times_matrix(q.n, q.k, q.a.data, q.b.data, q.b.row, q.c.data, q.accumulates());
      q.finished();
    });
  if (dots)
    return in_parts(p.started(), kDotRows, 16, [](const Product<T>& q) {
      multiply_by_dots(q.m, q.n, q.k, q.a.data, q.a.row, q.b.data, q.b.column, q.c, q.accumulates());
      q.finished();
    });
  const int64_t row_unit = p.m <= kFewRows ? 8 * kTileRows : kTileRows;
  const bool few = p.m <= kSliceRows && p.b.column == 1;  // decided for the whole: its parts must be summed alike
  const bool once = p.m <= kTileRows;
  const auto by_rows = !few   ? multiply_blocks<LeftOrder::rows, T>
                       : once ? multiply_in_slices<LeftOrder::rows, true, T>
                              : multiply_in_slices<LeftOrder::rows, false, T>;
  if (left_rows) return in_parts(p, row_unit, kPanel<T>, by_rows);
  if constexpr (std::is_same_v<T, float>) {
    const auto by_columns = !few   ? multiply_blocks<LeftOrder::columns, T>
                            : once ? multiply_in_slices<LeftOrder::columns, true, T>
                                   : multiply_in_slices<LeftOrder::columns, false, T>;
    // Lines that are a power of two apart drive each other out of L1.
    if (p.a.row == 1 && p.n <= kThin && p.a.column * int64_t(sizeof(T)) % 1024 != 0) return in_parts(p, row_unit, kPanel<T>, by_columns);
  }
  // Both turned: the turned product needs no copy of its factors, only its parts are turned at the end.
  if (p.a.row == 1 && p.b.row == 1 && !p.start.data && p.b.column != 1)
    return in_parts(p.transposed(), kTileRows, kPanel<T>, [](const Product<T>& q) {
      const int64_t stride = q.n + 16;
      ScratchBuffer<T> result(q.m * stride);
      Product<T> r = q.unfinished();
      r.c = {result.data(), stride, 1};
      multiply_blocks<LeftOrder::rows, T>(r);
      transpose(q.m, q.n, result.data(), stride, q.c.data, q.c.column);
      q.finished();
    });
  // Parts of whole rows, so that no part of A is copied twice.
  in_parts(
      p, kTileRows, kPanel<T>, [&](const Product<T>& q) { with_left_rows(q, by_rows); }, true);
}

// C = start + nothing.
template <class T>
void multiply_nothing(const Product<T>& p) {
  if (p.start.data) p.started();
  else
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) p.c.data[i * p.c.row + j * p.c.column] = T(0);
  p.finished();
}

template <class T>
void multiply(Product<T> p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) return multiply_nothing(p);
  if ((p.n == 1 && p.m > 1) || (p.c.column != 1 && p.c.row == 1)) p = p.transposed();
  if (p.n == 1) p.c.column = p.b.column = p.start.column = 1;
  if (p.k == 1) p.a.column = 1;
  if (p.start.column != 1) p = p.started();
  // A small one, all rows of which are contiguous, needs no further thought.
  if (p.c.column == 1 && p.a.column == 1 && p.b.column == 1 && p.n <= kPanel<T> && p.m > 1 && is_near(p))
    return multiply_slice<LeftOrder::rows, T>(p, {p.k, p.n, 1, nullptr, false});
  if (p.c.column == 1) return multiply_ordered(p);
  p = p.started();
  ScratchBuffer<T> result(p.m * p.n);  // C has no contiguous axis: by way of a matrix that has one
  Product<T> q = p.unfinished();
  q.c = {result.data(), p.n, 1};
  q.start = {};
  multiply_ordered(q);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T& to = p.c.data[i * p.c.row + j * p.c.column];
      to = p.accumulates() ? to + result.data()[i * p.n + j] : result.data()[i * p.n + j];
    }
  p.finished();
}

// Rows of A, of the start and of C contiguous.
template <class T>
void multiply(Product<T> p, const Packed<T>& b) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) return multiply_nothing(p);
  p.b = {b.data + b.depth * b.j0, 0, b.depth};
  in_parts(p, kTileRows, kPanel<T>, [&](const Product<T>& q) { multiply_blocks_of<LeftOrder::rows>(q, &b); });
}

template <class T>
GemmFunctions<T> functions_for() {
  return {[](int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<const T> start, Matrix<T> c, Finish finish) {
            multiply<T>({m, n, k, a, b, start, c, finish});
          },
      [](int64_t m, int64_t n, int64_t k, Matrix<const T> a, Packed<T> b, Matrix<const T> start, Matrix<T> c, Finish finish) {
        multiply<T>({m, n, k, a, {}, start, c, finish}, b);
      },
      [](int64_t k, int64_t n, Matrix<const T> b, T* to) { pack_panels(k, n, b, kPanel<T>, kVector<T>, to); }, transpose<T>};
}
FunctionsOf<GemmFunctions, float, double> make_functions() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

namespace {
PYBURN_FUNCTIONS(GemmFunctions)
}  // namespace

void gemm_plus(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<const float> start, Matrix<float> c,
    Finish finish) {
  functions<float>().multiply(m, n, k, a, b, start, c, finish);
}
void gemm_plus(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<const double> start,
    Matrix<double> c, Finish finish) {
  functions<double>().multiply(m, n, k, a, b, start, c, finish);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate) {
  gemm_plus(m, n, k, a, b, Matrix<const float>{accumulate ? c.data : nullptr, c.row, c.column}, c);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool accumulate) {
  gemm_plus(m, n, k, a, b, Matrix<const double>{accumulate ? c.data : nullptr, c.row, c.column}, c);
}
void gemm_packed(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Packed<float> b, Matrix<float> c, bool accumulate) {
  gemm_packed_plus(m, n, k, a, b, {accumulate ? c.data : nullptr, c.row, c.column}, c);
}
void gemm_packed(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Packed<double> b, Matrix<double> c, bool accumulate) {
  functions<double>().multiply_packed(m, n, k, a, b, {accumulate ? c.data : nullptr, c.row, c.column}, c, {});
}
void gemm_packed_plus(
    int64_t m, int64_t n, int64_t k, Matrix<const float> a, Packed<float> b, Matrix<const float> start, Matrix<float> c, Finish finish) {
  functions<float>().multiply_packed(m, n, k, a, b, start, c, finish);
}
void pack_right(int64_t k, int64_t n, Matrix<const float> b, float* to) { functions<float>().pack(k, n, b, to); }
void pack_right(int64_t k, int64_t n, Matrix<const double> b, double* to) { functions<double>().pack(k, n, b, to); }
void transpose_matrix(int64_t rows, int64_t columns, const float* from, int64_t from_row, float* to, int64_t to_row) {
  functions<float>().transpose(rows, columns, from, from_row, to, to_row);
}
void transpose_matrix(int64_t rows, int64_t columns, const double* from, int64_t from_row, double* to, int64_t to_row) {
  functions<double>().transpose(rows, columns, from, from_row, to, to_row);
}

}  // namespace pyburn::cpu
#endif
