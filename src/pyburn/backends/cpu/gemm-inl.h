// The register tile of the matrix product, compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_GEMM_INL_H
#undef PYBURN_GEMM_INL_H
#else
#define PYBURN_GEMM_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <cstdint>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators of a tile: 6 rows of 4 vectors where there are 32 registers, of 2 vectors where there are 16.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kTileVectors = 4;
#else
inline constexpr int kTileVectors = 2;
#endif
inline constexpr int kTileRows = 6;
template <class T>
inline constexpr int64_t kVector = HWY_LANES(T);
template <class T>
inline constexpr int64_t kPanel = kTileVectors* kVector<T>;  // columns of a tile

// C (rows x columns) = A (rows x k) B (k x columns), or += when accumulating. Rows of A, B and C are contiguous and
// `a_row`, ... apart. B is read in whole vectors; only `columns` columns of C are touched. Each element of C is summed in order
// of k, whatever the tile's size: how a product is cut into tiles does not change its value.
template <int rows, int vectors, class T>
void multiply_tile(int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_row, T* c, int64_t c_row, int64_t columns, bool accumulate) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  hn::Vec<decltype(d)> sum[rows][vectors];
  const T* a_rows[rows];
  HWY_UNROLL(6)
  for (int r = 0; r < rows; ++r) {
    a_rows[r] = a + r * a_row;
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t p = 0; p < k; ++p, b += b_row) {
    hn::Vec<decltype(d)> right[vectors];
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + v * lanes);
    HWY_UNROLL(6)
    for (int r = 0; r < rows; ++r) {
      const auto left = hn::Set(d, a_rows[r][p]);
      HWY_UNROLL(4)
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
  }
  const int64_t rest = columns - (vectors - 1) * lanes;  // columns in the last vector
  HWY_UNROLL(6)
  for (int r = 0; r < rows; ++r) {
    T* to = c + r * c_row;
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v, to += lanes) {
      if (v + 1 < vectors || rest == lanes) {
        hn::StoreU(accumulate ? hn::Add(sum[r][v], hn::LoadU(d, to)) : sum[r][v], d, to);
      } else {
        HWY_ALIGN T last[lanes];
        hn::Store(sum[r][v], d, last);
        for (int64_t j = 0; j < rest; ++j) to[j] = accumulate ? last[j] + to[j] : last[j];
      }
    }
  }
}

template <class T>
using MultiplyTile = void (*)(int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t, int64_t, bool);

// multiply_tile for `rows` (1 to 6) and `columns` (1 to kPanel).
template <class T>
MultiplyTile<T> multiply_tile_for(int64_t rows, int64_t columns) {
  static constexpr auto row = []<int v>(std::integral_constant<int, v>) {
    return std::array<MultiplyTile<T>, kTileRows>{multiply_tile<1, v, T>, multiply_tile<2, v, T>, multiply_tile<3, v, T>,
        multiply_tile<4, v, T>, multiply_tile<5, v, T>, multiply_tile<6, v, T>};
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
