// The register tile of the convolutions, compiled for each instruction set: include after foreach_target.h. Like the tile of the matrix
// product, but the rows of A and C may be at any address, and the sum covers several stretches.
#if defined(PYBURN_CONV_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_CONV_TILE_INL_H
#undef PYBURN_CONV_TILE_INL_H
#else
#define PYBURN_CONV_TILE_INL_H
#endif

#include <array>
#include <utility>

#include "pyburn/backends/cpu/gemm/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// `depth` elements of each row of A, starting at `a`, times rows of B that are `b_row` apart.
template <class T>
struct Stretch {
  int64_t a;
  const T* b;
  int64_t depth, b_row;
};

// Initial value of a tile: zero, the contents of C, or a row of numbers (padded to whole vectors).
enum class Start { zero, result, row };

template <int rows, int vectors, class T>
void stretch_tile(const Stretch<T>* stretches, int64_t count, const T* const* a, T* const* c, int64_t columns, Start start, const T* row) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  hn::Vec<decltype(d)> sum[rows][vectors];
  HWY_UNROLL(6)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) sum[r][v] = start == Start::row ? hn::LoadU(d, row + v * lanes) : hn::Zero(d);
  }
  for (int64_t s = 0; s < count; ++s) {
    const int64_t depth = stretches[s].depth, b_row = stretches[s].b_row;
    const T* b = stretches[s].b;
    const T* from[rows];
    HWY_UNROLL(6)
    for (int r = 0; r < rows; ++r) from[r] = a[r] + stretches[s].a;
    for (int64_t p = 0; p < depth; ++p, b += b_row) {
      hn::Vec<decltype(d)> right[vectors];
      HWY_UNROLL(4)
      for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + v * lanes);
      HWY_UNROLL(6)
      for (int r = 0; r < rows; ++r) {
        const auto left = hn::Set(d, from[r][p]);
        HWY_UNROLL(4)
        for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
      }
    }
  }
  const int64_t rest = columns - (vectors - 1) * lanes;  // columns in the last vector
  HWY_UNROLL(6)
  for (int r = 0; r < rows; ++r) {
    T* to = c[r];
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v, to += lanes) {
      if (v + 1 < vectors || rest == lanes) {
        hn::StoreU(start == Start::result ? hn::Add(sum[r][v], hn::LoadU(d, to)) : sum[r][v], d, to);
      } else {
        HWY_ALIGN T last[lanes];
        hn::Store(sum[r][v], d, last);
        for (int64_t j = 0; j < rest; ++j) to[j] = start == Start::result ? last[j] + to[j] : last[j];
      }
    }
  }
}

template <class T>
using StretchTile = void (*)(const Stretch<T>*, int64_t, const T* const*, T* const*, int64_t, Start, const T*);

// stretch_tile for `rows` (1 to 6) and `columns` (1 to kPanel).
template <class T>
StretchTile<T> stretch_tile_for(int64_t rows, int64_t columns) {
  static constexpr auto row = []<int v>(std::integral_constant<int, v>) {
    return std::array<StretchTile<T>, kTileRows>{stretch_tile<1, v, T>, stretch_tile<2, v, T>, stretch_tile<3, v, T>, stretch_tile<4, v, T>,
        stretch_tile<5, v, T>, stretch_tile<6, v, T>};
  };
  static constexpr auto table = []<int... v>(std::integer_sequence<int, v...>) {
    return std::array{row(std::integral_constant<int, v + 1>())...};
  }
  (std::make_integer_sequence<int, kTileVectors>());
  return table[size_t((columns + kVector<T> - 1) / kVector<T> - 1)][size_t(rows - 1)];
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
