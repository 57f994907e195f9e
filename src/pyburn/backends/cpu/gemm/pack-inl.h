// Packs matrices into the order in which the product reads them, for each instruction set: include after foreach_target.h.
#if defined(PYBURN_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_PACK_INL_H
#undef PYBURN_PACK_INL_H
#else
#define PYBURN_PACK_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "pyburn/backends/cpu/gemm/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
inline constexpr int64_t kSquare = 1;
template <class T>
void transpose_square(const T* from, int64_t, T* to, int64_t) {
  *to = *from;
}
#else
// Side of the square that one step transposes in registers: a 128-bit block of floats. Doubles use the same code in two halves.
inline constexpr int64_t kSquare = 4;
inline void transpose_square(const float* from, int64_t from_row, float* to, int64_t to_row) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pairs;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_row);
  const auto r2 = hn::LoadU(d, from + 2 * from_row), r3 = hn::LoadU(d, from + 3 * from_row);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1)), low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1)), high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * to_row);
}
inline void transpose_square(const double* from, int64_t from_row, double* to, int64_t to_row) {
  const hn::FixedTag<double, 2> d;
  for (int64_t r = 0; r < 4; r += 2)
    for (int64_t c = 0; c < 4; c += 2) {
      const auto r0 = hn::LoadU(d, from + r * from_row + c), r1 = hn::LoadU(d, from + (r + 1) * from_row + c);
      hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to + c * to_row + r);
      hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + (c + 1) * to_row + r);
    }
}
#endif

// Transposes in such squares, and element by element at the edges.
template <class T>
void transpose_rest(int64_t rows, int64_t columns, const T* from, int64_t from_row, T* to, int64_t to_row) {
  constexpr int64_t line = 64 / int64_t(sizeof(T));  // uses a cache line of each source row completely before the next
  for (int64_t c0 = 0; c0 < columns; c0 += line) {
    const int64_t c_end = std::min(columns, c0 + line), c_whole = c0 + (c_end - c0) / kSquare * kSquare;
    const int64_t r_whole = rows / kSquare * kSquare;
    for (int64_t r = 0; r < r_whole; r += kSquare)
      for (int64_t c = c0; c < c_whole; c += kSquare) transpose_square(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = r < r_whole ? c_whole : c0; c < c_end; ++c) to[c * to_row + r] = from[r * from_row + c];
  }
}

#if HWY_TARGET <= HWY_AVX2
// As above for 8 x 8 floats, with half as many loads and stores.
inline void transpose_eight(const float* from, int64_t from_row, float* to, int64_t to_row) {
  const hn::FixedTag<float, 8> d;
  const hn::FixedTag<double, 4> pairs;
  using Vec = hn::Vec<decltype(d)>;
  using Pairs = hn::Vec<decltype(pairs)>;
  Vec row[8], out[8];
  Pairs low[4], high[4];  // rows 2 i and 2 i + 1 interleaved
  HWY_UNROLL(8)
  for (int i = 0; i < 8; ++i) row[i] = hn::LoadU(d, from + i * from_row);
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    low[i] = hn::BitCast(pairs, hn::InterleaveLower(d, row[2 * i], row[2 * i + 1]));
    high[i] = hn::BitCast(pairs, hn::InterleaveUpper(d, row[2 * i], row[2 * i + 1]));
  }
  HWY_UNROLL(2)
  for (int i = 0; i < 2; ++i) {  // columns 0 to 3 (and 4 to 7 in the upper half) of four rows
    out[4 * i] = hn::BitCast(d, hn::InterleaveLower(pairs, low[2 * i], low[2 * i + 1]));
    out[4 * i + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low[2 * i], low[2 * i + 1]));
    out[4 * i + 2] = hn::BitCast(d, hn::InterleaveLower(pairs, high[2 * i], high[2 * i + 1]));
    out[4 * i + 3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high[2 * i], high[2 * i + 1]));
  }
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    hn::StoreU(hn::ConcatLowerLower(d, out[4 + i], out[i]), d, to + i * to_row);
    hn::StoreU(hn::ConcatUpperUpper(d, out[4 + i], out[i]), d, to + (4 + i) * to_row);
  }
}
#endif

// to[c][r] = from[r][c]; the rows of both are contiguous.
template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t from_row, T* to, int64_t to_row) {
#if HWY_TARGET <= HWY_AVX2
  if constexpr (std::is_same_v<T, float>) {
    if (rows >= 8 && columns >= 8) {  // the remainder is transposed below
      const int64_t r_whole = rows / 8 * 8, c_whole = columns / 8 * 8;
      for (int64_t c = 0; c < c_whole; c += 16)  // uses a cache line of each source row completely before the next
        for (int64_t r = 0; r < r_whole; r += 8)
          for (int64_t half = c; half < std::min(c + 16, c_whole); half += 8)
            transpose_eight(from + r * from_row + half, from_row, to + half * to_row + r, to_row);
      transpose_rest(rows, columns - c_whole, from + c_whole, from_row, to + c_whole * to_row, to_row);
      return transpose_rest(rows - r_whole, c_whole, from + r_whole * from_row, from_row, to + r_whole, to_row);
    }
  }
#endif
  transpose_rest(rows, columns, from, from_row, to, to_row);
}

// Copies `from`, with any strides, to contiguous rows.
template <class T>
void copy_matrix(int64_t rows, int64_t columns, Matrix<const T> from, T* to, int64_t to_row) {
  if (from.row == 1 && from.column != 1) return transpose(columns, rows, from.data, from.column, to, to_row);
  for (int64_t r = 0; r < rows; ++r) {
    const T* p = from.data + r * from.row;
    T* q = to + r * to_row;
    if (from.column == 1) std::copy_n(p, columns, q);
    else
      for (int64_t c = 0; c < columns; ++c) q[c] = p[c * from.column];
  }
}

// B (k x n) as consecutive panels of `panel` columns; the last one is padded with zeros to whole vectors of `vector`.
template <class T>
void pack_panels(int64_t k, int64_t n, Matrix<const T> b, int64_t panel, int64_t vector, T* to) {
  for (int64_t j = 0; j < n; j += panel) {
    const int64_t columns = std::min(panel, n - j), width = (columns + vector - 1) / vector * vector;
    copy_matrix(k, columns, {b.data + j * b.column, b.row, b.column}, to, width);
    if (width != columns)
      for (int64_t p = 0; p < k; ++p) std::fill(to + p * width + columns, to + (p + 1) * width, T(0));
    to += k * width;
  }
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
