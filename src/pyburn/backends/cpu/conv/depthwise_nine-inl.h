// Sums over the nine taps of a 3x3 kernel, for instruction sets with 32 registers: they hold all weights and a column of 14 results.
// Include after foreach_target.h. Each source row is read once for all results and taps that use it.
#if defined(PYBURN_DEPTHWISE_NINE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DEPTHWISE_NINE_INL_H
#undef PYBURN_DEPTHWISE_NINE_INL_H
#else
#define PYBURN_DEPTHWISE_NINE_INL_H
#endif

#include "pyburn/backends/cpu/conv/depthwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr bool kHasNine = true;
using LineTag = hn::ScalableTag<float>;
using LineVector = Lanes<float>;

// The source values that a vector of results multiplies with each kernel column; zero outside [0, size). `at` is the source column of the
// first result and the first kernel column.
template <int stride>
class Neighbours {  // stride 1: three loads
 public:
  Neighbours(int64_t at, int64_t size) {
    for (int j = 0; j < 3; ++j) inside_[j] = {LineTag(), at + j, size};
  }
  HWY_INLINE void load(const float* from, LineVector* x) const {
    HWY_UNROLL(3)
    for (int j = 0; j < 3; ++j) x[j] = inside_[j].load(LineTag(), from + j);
  }

 private:
  LanesInside<LineTag> inside_[3];
};

template <>
class Neighbours<2> {  // two loads; the last kernel column reads the same values as the first column of the next result
 public:
  Neighbours(int64_t at, int64_t size)
      : near_(LineTag(), at, size), far_(LineTag(), at + kLanes, size), last_(at + 2 * kLanes >= 0 && at + 2 * kLanes < size) {}
  HWY_INLINE void load(const float* from, LineVector* x) const {
    const LineTag d;
    const auto near = near_.load(d, from), far = far_.load(d, from + kLanes);
    const __m512i last = _mm512_castsi128_si512(_mm_castps_si128(_mm_maskz_load_ss(last_, from + 2 * kLanes)));
    x[0] = hn::ConcatEven(d, far, near), x[1] = hn::ConcatOdd(d, far, near);
    x[2] = LineVector{_mm512_castsi512_ps(_mm512_alignr_epi32(last, _mm512_castps_si512(x[0].raw), 1))};
  }

 private:
  static constexpr int64_t kLanes = kVector<float>;
  LanesInside<LineTag> near_, far_;
  __mmask8 last_;
};

// A column of results. The first result uses row `first` and column `at` of the source for its first tap; `columns` results per row are
// written.
template <int rows, int stride>
void sum_nine(const Lines<float>& source, int64_t first, int64_t at, const float* weights, float start, float* result, int64_t result_row,
    int64_t columns) {
  const LineTag d;
  const Neighbours<stride> near(at, source.width);
  LineVector weight[9], sum[rows];
  HWY_UNROLL(9)
  for (int i = 0; i < 9; ++i) weight[i] = hn::Set(d, weights[i]);
  HWY_UNROLL(16)
  for (int r = 0; r < rows; ++r) sum[r] = hn::Set(d, start);
  HWY_UNROLL(32)
  for (int k = 0; k < (rows - 1) * stride + 3; ++k) {
    LineVector x[3];
    near.load(source.line(first + k) + at, x);
    HWY_UNROLL(3)
    for (int j = 0; j < 3; ++j) {
      x[j] = read_once(x[j]);
      HWY_UNROLL(3)
      for (int i = 0; i < 3; ++i)
        if (k >= i && (k - i) % stride == 0 && (k - i) / stride < rows)
          sum[(k - i) / stride] = hn::MulAdd(weight[3 * i + j], x[j], sum[(k - i) / stride]);
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < rows; ++r) store_first(sum[r], d, result + r * result_row, columns);
}

inline constexpr int kNineRows = 14;
using SumNine = void (*)(const Lines<float>&, int64_t, int64_t, const float*, float, float*, int64_t, int64_t);

template <int stride>
SumNine sum_nine_for(int64_t rows) {
  static constexpr auto table = []<int... r>(std::integer_sequence<int, r...>) { return std::array{sum_nine<r + 1, stride>...}; }
  (std::make_integer_sequence<int, kNineRows>());
  return table[size_t(rows - 1)];
}
#else
inline constexpr bool kHasNine = false;
inline constexpr int kNineRows = 0;
#endif

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
