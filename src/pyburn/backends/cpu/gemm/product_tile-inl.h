// The register tile of the matrix product in all its forms, compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_PRODUCT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_PRODUCT_TILE_INL_H
#undef PYBURN_PRODUCT_TILE_INL_H
#else
#define PYBURN_PRODUCT_TILE_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <cstdint>
#include <utility>

#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile that is `vectors` wide. Narrow tiles have more rows, so that there are enough independent sums to keep the processor busy.
inline constexpr int rows_of_tile(int vectors) { return 2 * vectors <= kTileVectors ? 2 * kTileRows : kTileRows; }

// C (rows x columns) = start + A (rows x k) B (k x columns). Rows of B and C are contiguous.
template <class T>
struct TileOfProduct {
  int64_t k;
  const T* a;
  int64_t a_stride;  // row stride of A; its column stride if columns are contiguous
  const T* b;
  int64_t b_row;
  T* kept;         // if B is read in place: its rows are also copied here, in whole vectors, unless this is null
  const T* start;  // null: nothing is added
  int64_t start_row;
  T* c;
  int64_t c_row, columns;
};

enum class LeftOrder { rows, columns };
// Packed: B consists of whole vectors, only `columns` of whose columns are used. In place: nothing is read past the last column, and rows
// are prefetched in software, because the hardware does not predict rows that are far apart.
enum class RightPlace { packed, in_place };

// Writes only `columns` columns of C. Each element is summed in order of k whatever the tile size, so the tiling of a product does not
// change its values.
template <int rows, int vectors, LeftOrder order, RightPlace place, class T>
void product_tile(const TileOfProduct<T>& t) {
  constexpr bool by_rows = order == LeftOrder::rows, in_place = place == RightPlace::in_place;
  constexpr int groups = by_rows ? (rows + 2) / 3 : 1;  // three rows per pointer: addressing modes add a stride once or twice for free
  constexpr int64_t lanes = kVector<T>;
  const hn::ScalableTag<T> d;
  const int64_t rest = t.columns - (vectors - 1) * lanes;  // columns in the last vector
  const int64_t a_stride = t.a_stride, b_row = t.b_row;
  hn::Vec<decltype(d)> sum[rows][vectors];
  const T *a[groups], *b = t.b;
  T* kept = t.kept;
  HWY_UNROLL(4)
  for (int g = 0; g < groups; ++g) a[g] = t.a + 3 * g * a_stride;
  HWY_UNROLL(12)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t p = t.k; p > 0; --p, b += b_row) {
    hn::Vec<decltype(d)> right[vectors];
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v)
      right[v] = in_place && v + 1 == vectors ? load_first(d, b + v * lanes, rest) : hn::LoadU(d, b + v * lanes);
    if constexpr (in_place) {
      if (kept) {
        HWY_UNROLL(4)
        for (int v = 0; v < vectors; ++v, kept += lanes) hn::StoreU(right[v], d, kept);
      }
    }
    HWY_UNROLL(12)
    for (int r = 0; r < rows; ++r) {
      const auto left = hn::Set(d, by_rows ? a[r / 3][(r % 3) * a_stride] : a[0][r]);
      HWY_UNROLL(4)
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
    HWY_UNROLL(4)
    for (int g = 0; g < groups; ++g) a[g] += by_rows ? 1 : a_stride;
  }
  HWY_UNROLL(12)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) {
      const int64_t count = v + 1 < vectors ? lanes : rest;
      auto value = sum[r][v];
      if (t.start) value = hn::Add(value, load_first(d, t.start + r * t.start_row + v * lanes, count));
      store_first(value, d, t.c + r * t.c_row + v * lanes, count);
    }
  }
}

template <class T>
using TileFunction = void (*)(const TileOfProduct<T>&);

// product_tile for `columns` columns (1 to kPanel) and `rows` rows (1 to rows_of_tile()).
template <class T, LeftOrder order, RightPlace place>
TileFunction<T> tile_function(int64_t rows, int64_t columns) {
  static constexpr auto of_width = []<int v, int... r>(std::integral_constant<int, v>, std::integer_sequence<int, r...>) {
    return std::array<TileFunction<T>, 2 * kTileRows>{product_tile<r + 1, v, order, place, T>...};
  };
  static constexpr auto table = []<int... v>(std::integer_sequence<int, v...>) {
    return std::array{of_width(std::integral_constant<int, v + 1>(), std::make_integer_sequence<int, rows_of_tile(v + 1)>())...};
  }
  (std::make_integer_sequence<int, kTileVectors>());
  return table[size_t((columns + kVector<T> - 1) / kVector<T> - 1)][size_t(rows - 1)];
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
