// The sums over taps of one channel, for each instruction set: include after foreach_target.h.
#if defined(PYBURN_DEPTHWISE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DEPTHWISE_ROWS_INL_H
#undef PYBURN_DEPTHWISE_ROWS_INL_H
#else
#define PYBURN_DEPTHWISE_ROWS_INL_H
#endif

#include <array>

#include "pyburn/backends/cpu/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// `vectors` vectors of a row; only `columns` elements are written. Results of one lane sum in the order of the taps.
template <int vectors, class T>
HWY_INLINE void sum_vectors(const int64_t* offsets, const T* weights, int64_t taps, const T* source, T start, T* to, int64_t columns) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  hn::Vec<decltype(d)> sum[vectors];
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) sum[v] = hn::Set(d, start);
  for (int64_t t = 0; t < taps; ++t) {
    const auto weight = hn::Set(d, weights[t]);
    const T* from = source + offsets[t];
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) sum[v] = hn::MulAdd(weight, hn::LoadU(d, from + v * lanes), sum[v]);
  }
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) store_first(sum[v], d, to + v * lanes, columns - v * lanes);
}

template <class T>
HWY_INLINE void sum_row(const int64_t* offsets, const T* weights, int64_t taps, const T* source, T start, T* to, int64_t columns) {
  constexpr int64_t lanes = kVector<T>;
  for (; columns > 3 * lanes; columns -= 4 * lanes, source += 4 * lanes, to += 4 * lanes)
    sum_vectors<4>(offsets, weights, taps, source, start, to, columns);
  if (columns > 2 * lanes) sum_vectors<3>(offsets, weights, taps, source, start, to, columns);
  else if (columns > lanes) sum_vectors<2>(offsets, weights, taps, source, start, to, columns);
  else if (columns > 0) sum_vectors<1>(offsets, weights, taps, source, start, to, columns);
}

template <class T>
T sum_of_lanes(const T* p) {
  const hn::ScalableTag<T> d;
  return hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, p)));
}

// A vector of columns of `rows` rows below each other, for one channel and a kernel of ky rows; each vector of the source is read once for
// all rows that meet it.
inline constexpr int kColumnRows = 8;
template <int ky, int rows, class T>
void sum_column(const T* source, int64_t width, const int64_t* columns, int64_t kx, const T* weights, T start, T* result,
    int64_t result_width, int64_t lanes) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> sum[rows];
  HWY_UNROLL(8)
  for (int r = 0; r < rows; ++r) sum[r] = hn::Set(d, start);
  for (int64_t j = 0; j < kx; ++j) {
    hn::Vec<decltype(d)> weight[ky];
    HWY_UNROLL(5)
    for (int i = 0; i < ky; ++i) weight[i] = hn::Set(d, weights[i * kx + j]);
    const T* from = source + columns[j];
    HWY_UNROLL(12)
    for (int k = 0; k < rows + ky - 1; ++k) {
      const auto line = hn::LoadU(d, from + k * width);
      HWY_UNROLL(5)
      for (int i = 0; i < ky; ++i)
        if (k - i >= 0 && k - i < rows) sum[k - i] = hn::MulAdd(weight[i], line, sum[k - i]);
    }
  }
  HWY_UNROLL(8)
  for (int r = 0; r < rows; ++r) store_first(sum[r], d, result + r * result_width, lanes);
}

template <int ky, class T>
auto sum_column_for(int64_t rows) {
  static constexpr auto table = []<int... r>(std::integer_sequence<int, r...>) { return std::array{sum_column<ky, r + 1, T>...}; }
  (std::make_integer_sequence<int, kColumnRows>());
  return table[size_t(rows - 1)];
}

// sums[tap][lane] += x * dy over some rows, for `taps` taps at the given offsets.
template <int taps, class T>
void weight_rows(int64_t rows, int64_t columns, const T* planes, int64_t width, const int64_t* offsets, const T* dy, T* sums) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  hn::Vec<decltype(d)> sum[taps];
  for (int t = 0; t < taps; ++t) sum[t] = hn::LoadU(d, sums + t * lanes);
  for (int64_t c = 0; c < columns; c += lanes) {
    const int64_t count = std::min(lanes, columns - c);
    const auto inside = hn::FirstN(d, size_t(count));  // what lies behind must not meet the zeros of dy: it may be infinite
    for (int64_t y = 0; y < rows; ++y) {
      const auto gradient = load_first(d, dy + y * columns + c, count);
      const T* window = planes + y * width + c;
      for (int t = 0; t < taps; ++t) sum[t] = hn::MulAdd(gradient, hn::IfThenElseZero(inside, hn::LoadU(d, window + offsets[t])), sum[t]);
    }
  }
  for (int t = 0; t < taps; ++t) hn::StoreU(sum[t], d, sums + t * lanes);
}

template <class T>
auto weight_rows_for(int64_t taps) {
  static constexpr auto table = []<int... t>(std::integer_sequence<int, t...>) { return std::array{weight_rows<t + 1, T>...}; }
  (std::make_integer_sequence<int, 9>());
  return table[size_t(taps - 1)];
}

// The same for a 3x3 kernel without stride: each vector of x is read once for the three rows of dy it meets.
template <class T>
void roll_weight_rows(int64_t rows, int64_t columns, const T* planes, int64_t width, const int64_t* offsets, const T* dy, T* sums) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  hn::Vec<decltype(d)> sum[9];
  HWY_UNROLL(9)
  for (int t = 0; t < 9; ++t) sum[t] = hn::LoadU(d, sums + t * lanes);
  for (int64_t c = 0; c < columns; c += lanes) {
    const int64_t count = std::min(lanes, columns - c);
    const auto inside = hn::FirstN(d, size_t(count));
    auto one_above = hn::Zero(d), two_above = hn::Zero(d);
    for (int64_t y = 0; y < rows + 2; ++y) {
      const auto gradient = y < rows ? load_first(d, dy + y * columns + c, count) : hn::Zero(d);
      HWY_UNROLL(3)
      for (int j = 0; j < 3; ++j) {
        const auto line = hn::IfThenElseZero(inside, hn::LoadU(d, planes + y * width + c + offsets[j]));
        sum[j] = hn::MulAdd(gradient, line, sum[j]);
        sum[3 + j] = hn::MulAdd(one_above, line, sum[3 + j]);
        sum[6 + j] = hn::MulAdd(two_above, line, sum[6 + j]);
      }
      two_above = one_above, one_above = gradient;
    }
  }
  HWY_UNROLL(9)
  for (int t = 0; t < 9; ++t) hn::StoreU(sum[t], d, sums + t * lanes);
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
