// Depthwise sums of one channel, reading the image in place, for each instruction set: include after foreach_target.h. Rows are passed as
// pointers; rows outside the image point to zeros. Columns outside the image are masked.
#if defined(PYBURN_DEPTHWISE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DEPTHWISE_ROWS_INL_H
#undef PYBURN_DEPTHWISE_ROWS_INL_H
#else
#define PYBURN_DEPTHWISE_ROWS_INL_H
#endif

#include <array>

#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// The rows of a plane by index; rows outside the plane are zeros.
template <class T>
struct Lines {
  const T* plane;
  int64_t height, width;
  const T* zeros;

  HWY_INLINE const T* line(int64_t i) const { return i >= 0 && i < height ? plane + i * width : zeros; }
  void find(int64_t first, int64_t step, int64_t count, const T** lines) const {
    for (int64_t k = 0; k < count; ++k) lines[k] = line(first + k * step);
  }
};

// --- loading the source values of a vector of results ---

template <class T>
using Lanes = hn::Vec<hn::ScalableTag<T>>;

// A vector used by several products. Compilers would otherwise load it again for each of them.
template <class V>
HWY_INLINE V read_once(V v) {
#if HWY_TARGET <= HWY_SSSE3 && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// Elements of a row `stride` apart (1 or 2; 0: `step`). For stride 2, even lanes hold the first half and odd lanes the second half: two
// loads and a blend, where memory order would need shuffles for every tap. `in_order` restores memory order.
template <int stride, class T>
class WholeColumns {
 public:
  WholeColumns() = default;
  explicit WholeColumns(int64_t step) : step_(step) {}
  static constexpr int64_t reach(int64_t step, int64_t count = kVector<T>) { return (count - 1) * (stride ? stride : step) + 1; }

  HWY_INLINE Lanes<T> operator()(const T* from) const {
    const hn::ScalableTag<T> d;
    constexpr int64_t lanes = kVector<T>;
    if constexpr (stride == 1) return hn::LoadU(d, from);
    else if constexpr (stride == 2) return hn::OddEven(hn::LoadU(d, from + lanes - 1), hn::LoadU(d, from));
    else {
      HWY_ALIGN T apart[lanes];
      for (int64_t i = 0; i < lanes; ++i) apart[i] = from[i * step_];
      return hn::Load(d, apart);
    }
  }

 private:
  int64_t step_ = stride;
};

// As above, for elements partly outside [0, size), which are zero. `at` is the index of the first.
template <int stride, class T>
class InsideColumns {
 public:
  InsideColumns() = default;
  InsideColumns(int64_t step, int64_t at, int64_t size)
      : near_(hn::ScalableTag<T>(), at, size), far_(hn::ScalableTag<T>(), at + kVector<T> - 1, size), step_(step), at_(at), size_(size) {}

  HWY_INLINE Lanes<T> operator()(const T* from) const {
    const hn::ScalableTag<T> d;
    constexpr int64_t lanes = kVector<T>;
    if constexpr (stride == 1) return near_.load(d, from);
    else if constexpr (stride == 2) return hn::OddEven(far_.load(d, from + lanes - 1), near_.load(d, from));
    else {
      HWY_ALIGN T apart[lanes] = {};
      for (int64_t i = 0, at = at_; i < lanes; ++i, at += step_)
        if (at >= 0 && at < size_) apart[i] = from[i * step_];
      return hn::Load(d, apart);
    }
  }

 private:
  LanesInside<hn::ScalableTag<T>> near_, far_;
  int64_t step_, at_, size_;
};

// As above for stride 2 and at most half a vector of results: even lanes hold them, odd lanes are zero.
template <class T>
class EvenColumns {
 public:
  EvenColumns() = default;
  EvenColumns(int64_t at, int64_t size) : inside_(LanesInside<hn::ScalableTag<T>>::even(hn::ScalableTag<T>(), at, size)) {}
  HWY_INLINE Lanes<T> operator()(const T* from) const { return inside_.load(hn::ScalableTag<T>(), from); }

 private:
  LanesInside<hn::ScalableTag<T>> inside_;
};

// Converts between lane order and memory order.
template <int stride, class T>
HWY_INLINE Lanes<T> in_order(Lanes<T> v) {
  if constexpr (stride != 2) return v;
  else {
    const hn::ScalableTag<T> d;
    constexpr int64_t lanes = kVector<T>, half = lanes / 2;
    HWY_ALIGN hn::TFromD<hn::RebindToSigned<decltype(d)>> from[lanes] = {};
    for (int64_t i = 0; i < half; ++i) from[i] = 2 * i, from[half + i] = 2 * i + 1;
    return hn::TableLookupLanes(v, hn::SetTableIndices(d, from));
  }
}
template <int stride, class T>
HWY_INLINE Lanes<T> out_of_order(Lanes<T> v) {
  if constexpr (stride != 2) return v;
  else {
    const hn::ScalableTag<T> d;
    constexpr int64_t lanes = kVector<T>, half = lanes / 2;
    HWY_ALIGN hn::TFromD<hn::RebindToSigned<decltype(d)>> from[lanes] = {};
    for (int64_t i = 0; i < half; ++i) from[2 * i] = i, from[2 * i + 1] = half + i;
    return hn::TableLookupLanes(v, hn::SetTableIndices(d, from));
  }
}

// --- a vector of columns over several rows, for kernels with few rows ---

inline constexpr int kColumnRows = 8;

// Adds the products of one kernel column. Each source vector is loaded once for all results that use it.
template <int ky, int rows, int stride, class T, class Load>
HWY_INLINE void add_column(const T* const* lines, int64_t at, Load load, const T* weights, int64_t weight_row, Lanes<T>* sum) {
  const hn::ScalableTag<T> d;
  Lanes<T> weight[ky];
  HWY_UNROLL(7)
  for (int i = 0; i < ky; ++i) weight[i] = hn::Set(d, weights[i * weight_row]);
  HWY_UNROLL(24)
  for (int k = 0; k < (rows - 1) * stride + ky; ++k) {
    const auto line = read_once(load(lines[k] + at));
    HWY_UNROLL(7)
    for (int i = 0; i < ky; ++i)
      if (k >= i && (k - i) % stride == 0 && (k - i) / stride < rows)
        sum[(k - i) / stride] = hn::MulAdd(weight[i], line, sum[(k - i) / stride]);
  }
}

// Source row k contributes to result row (k - i) / stride through kernel row i. `at` is the source column of the first result and first
// kernel column; `size` is the row length. Only `columns` results per row are written.
template <int ky, int rows, int stride, class T>
void sum_column(const T* const* lines, int64_t at, int64_t size, int64_t kx, int64_t dilation, const T* weights, T start, T* result,
    int64_t result_row, int64_t columns) {
  const hn::ScalableTag<T> d;
  Lanes<T> sum[rows];
  HWY_UNROLL(8)
  for (int r = 0; r < rows; ++r) sum[r] = hn::Set(d, start);
  for (int64_t j = 0; j < kx; ++j, at += dilation) {
    if (at >= 0 && at + WholeColumns<stride, T>::reach(stride) <= size)
      add_column<ky, rows, stride>(lines, at, WholeColumns<stride, T>(stride), weights + j, kx, sum);
    else if (stride == 2 && 2 * columns <= kVector<T>)
      add_column<ky, rows, stride>(lines, at, EvenColumns<T>(at, size), weights + j, kx, sum);
    else add_column<ky, rows, stride>(lines, at, InsideColumns<stride, T>(stride, at, size), weights + j, kx, sum);
  }
  HWY_UNROLL(8)
  for (int r = 0; r < rows; ++r) store_first(in_order<stride, T>(sum[r]), d, result + r * result_row, columns);
}

template <class T>
using SumColumn = void (*)(const T* const*, int64_t, int64_t, int64_t, int64_t, const T*, T, T*, int64_t, int64_t);

template <int ky, int stride, class T>
SumColumn<T> sum_column_for(int64_t rows) {
  static constexpr auto table = []<int... r>(std::integer_sequence<int, r...>) { return std::array{sum_column<ky, r + 1, stride, T>...}; }
  (std::make_integer_sequence<int, kColumnRows>());
  return table[size_t(rows - 1)];
}

// --- any kernel, row by row ---

// One term of a sum: the source row, the source position of the first result, and the weight.
struct RowTap {
  int64_t line, at;
};

// Computes results [first, first + vectors * lanes) of a row; `step` is the stride.
template <int stride, int vectors, class T>
HWY_INLINE void sum_taps(
    const T* const* lines, const RowTap* taps, const T* weights, int64_t count, int64_t first, int64_t step, T start, Lanes<T>* sum) {
  const hn::ScalableTag<T> d;
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) sum[v] = hn::Set(d, start);
  const WholeColumns<stride, T> load(step);
  for (int64_t t = 0; t < count; ++t) {
    const T* from = lines[taps[t].line] + taps[t].at + first * step;
    const auto weight = hn::Set(d, weights[t]);
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) sum[v] = hn::MulAdd(weight, load(from + v * kVector<T> * step), sum[v]);
  }
}
template <int stride, class T>
HWY_INLINE Lanes<T> sum_taps_inside(
    const T* const* lines, const RowTap* taps, const T* weights, int64_t count, int64_t first, int64_t step, int64_t size, T start) {
  const hn::ScalableTag<T> d;
  auto sum = hn::Set(d, start);
  for (int64_t t = 0; t < count; ++t) {
    const int64_t at = taps[t].at + first * step;
    sum = hn::MulAdd(hn::Set(d, weights[t]), InsideColumns<stride, T>(step, at, size)(lines[taps[t].line] + at), sum);
  }
  return sum;
}

// The results of one row that use the same taps: the first one, their number, and the columns that every tap reaches for all of them.
template <class T>
struct RowPart {
  const RowTap* taps;
  const T* weights;
  int64_t count;         // number of taps
  int64_t low, high;     // the smallest and largest `at`
  int64_t first, total;  // results: the first column and their number
};

template <int stride, class T>
void sum_row(const T* const* lines, const RowPart<T>& p, int64_t step, int64_t size, T start, T* to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  const auto whole = [&](int64_t first, int64_t vectors) {
    return first * step + p.low >= 0 && first * step + p.high + WholeColumns<stride, T>::reach(step, vectors * lanes) <= size;
  };
  for (int64_t c = 0; c < p.total;) {
    if (c + 4 * lanes <= p.total && whole(c, 4)) {
      Lanes<T> sum[4];
      sum_taps<stride, 4>(lines, p.taps, p.weights, p.count, c, step, start, sum);
      HWY_UNROLL(4)
      for (int v = 0; v < 4; ++v) hn::StoreU(in_order<stride, T>(sum[v]), d, to + c + v * lanes);
      c += 4 * lanes;
      continue;
    }
    if (p.total >= lanes) c = std::min(c, p.total - lanes);  // whole vectors; the last one may overlap the previous one
    Lanes<T> sum[1];
    if (whole(c, 1)) sum_taps<stride, 1>(lines, p.taps, p.weights, p.count, c, step, start, sum);
    else sum[0] = sum_taps_inside<stride>(lines, p.taps, p.weights, p.count, c, step, size, start);
    store_first(in_order<stride, T>(sum[0]), d, to + c, p.total - c);
    c += lanes;
  }
}

// A row of `width` results whose columns are divided into `phases`; each phase is computed separately.
template <class T>
void sum_interleaved(const T* const* lines, const RowPart<T>* parts, int64_t phases, int64_t size, T start, T* to, int64_t width) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  const auto sum_of = [&](const RowPart<T>& p, int64_t c) HWY_ATTR {
    Lanes<T> sum[1];
    if (c + p.low >= 0 && c + p.high + lanes <= size) sum_taps<1, 1>(lines, p.taps, p.weights, p.count, c, 1, start, sum);
    else sum[0] = sum_taps_inside<1>(lines, p.taps, p.weights, p.count, c, 1, size, start);
    return sum[0];
  };
  const int64_t most = divided_up(width, phases);
  HWY_ALIGN T both[2 * lanes];
#if HWY_TARGET != HWY_SCALAR
  if (phases == 2) {
    const RowPart<T>&even = parts[parts[0].first != 0], &odd = parts[parts[0].first == 0];
    for (int64_t c = 0; c < most; c += lanes) {
      const bool fits = 2 * (c + lanes) <= width;
      hn::StoreInterleaved2(sum_of(even, c), sum_of(odd, c), d, fits ? to + 2 * c : both);
      if (fits) continue;
      store_first(hn::Load(d, both), d, to + 2 * c, width - 2 * c);
      store_first(hn::Load(d, both + lanes), d, to + 2 * c + lanes, width - 2 * c - lanes);
    }
    return;
  }
#endif
  for (int64_t c = 0; c < most; c += lanes)
    for (const RowPart<T>* p = parts; p < parts + phases; ++p) {
      hn::Store(sum_of(*p, c), d, both);
      for (int64_t i = 0; i < std::min(lanes, p->total - c); ++i) to[p->first + (c + i) * phases] = both[i];
    }
}

// --- input gradient of a 3x3 kernel with stride 2 ---

// Interleaves two rows; `count` elements in total.
template <class T>
HWY_INLINE void store_interleaved(Lanes<T> even, Lanes<T> odd, T* to, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  if (count >= 2 * lanes) return hn::StoreInterleaved2(even, odd, d, to);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (std::is_same_v<T, float>) {
    const auto low = hn::InterleaveLower(d, even, odd), high = hn::InterleaveUpper(d, even, odd);  // in blocks of 128 bits
    const __m512i blocks = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    store_first(Lanes<T>{_mm512_permutex2var_ps(low.raw, blocks, high.raw)}, d, to, count);
    if (count > lanes) {
      const __m512i rest = _mm512_add_epi32(blocks, _mm512_set1_epi32(8));
      store_first(Lanes<T>{_mm512_permutex2var_ps(low.raw, rest, high.raw)}, d, to + lanes, count - lanes);
    }
    return;
  }
#endif
  HWY_ALIGN T both[2 * lanes];
  hn::StoreInterleaved2(even, odd, d, both);
  store_first(hn::Load(d, both), d, to, count);
  if (count > lanes) store_first(hn::Load(d, both + lanes), d, to + lanes, count - lanes);
}

// The sums that a source row adds to a pair of columns: the middle kernel column contributes to one of them, the outer columns to the
// other. The padding decides which comes first.
template <bool middle_first, class T>
struct ColumnPair {
  Lanes<T> even, odd;
  HWY_INLINE void add(Lanes<T> near, Lanes<T> far, const Lanes<T>* weight) {
    Lanes<T>&middle = middle_first ? even : odd, &outer = middle_first ? odd : even;
    middle = hn::MulAdd(weight[1], middle_first ? near : far, middle);
    outer = hn::MulAdd(weight[2], near, hn::MulAdd(weight[0], far, outer));
  }
};

// A vector of column pairs, for results [row, row_end). Result i uses, by kernel row, source rows (i + padding - tap) / 2; lines[0] is the
// first one in use. `at` is the smaller of the two columns that the first pair reads.
template <bool middle_first, class T, class Load>
HWY_INLINE void spread_column(const T* const* lines, int64_t at, const Load* load, int64_t padding, const T* weights, T start, int64_t row,
    int64_t row_end, T* result, int64_t result_row, int64_t columns) {
  const hn::ScalableTag<T> d;
  Lanes<T> weight[9];
  HWY_UNROLL(9)
  for (int t = 0; t < 9; ++t) weight[t] = hn::Set(d, weights[t]);
  auto near = hn::Zero(d), far = hn::Zero(d), near_above = near, far_above = far;
  const int64_t first = (row + padding) / 2 - 1;
  const auto load_line = [&](int64_t k) HWY_ATTR {
    near_above = near, far_above = far;
    near = read_once(load[0](lines[k] + at)), far = read_once(load[1](lines[k] + at + 1));
  };
  load_line(0);
  load_line(1);
  for (int64_t i = row; i < row_end; ++i) {
    const auto begin = hn::Set(d, start);
    ColumnPair<middle_first, T> sum{begin, begin};
    if ((i + padding) % 2) sum.add(near, far, weight + 3);
    else {
      if (i > row) load_line((i + padding) / 2 - first);
      sum.add(near, far, weight);
      sum.add(near_above, far_above, weight + 6);
    }
    store_interleaved<T>(sum.even, sum.odd, result + i * result_row, columns);
  }
}

// All columns. `weights` are in the kernel's own order.
template <bool middle_first, class T>
void spread_rows(const T* const* lines, int64_t at, int64_t size, int64_t padding, const T* weights, T start, int64_t row, int64_t row_end,
    T* result, int64_t width) {
  constexpr int64_t lanes = kVector<T>;
  for (int64_t c = 0; 2 * c < width; c += lanes, at += lanes) {
    if (at >= 0 && at + 1 + lanes <= size) {
      const WholeColumns<1, T> load[2];
      spread_column<middle_first>(lines, at, load, padding, weights, start, row, row_end, result + 2 * c, width, width - 2 * c);
    } else {
      const InsideColumns<1, T> load[2] = {{1, at, size}, {1, at + 1, size}};
      spread_column<middle_first>(lines, at, load, padding, weights, start, row, row_end, result + 2 * c, width, width - 2 * c);
    }
  }
}

// --- weight gradient ---

template <class T>
T sum_of_lanes(const T* p) {
  const hn::ScalableTag<T> d;
  return hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, p)));
}

// sum[tap] += x * dy over `rows` rows of a vector of columns, for all taps of a 3x3 kernel. load(k, x) loads the values of source row k for
// each kernel column, gradient(row) loads dy. Each source row is loaded once.
template <int stride, class V, class Load, class Gradient>
HWY_INLINE void roll_weight_rows(int64_t rows, Load load, Gradient gradient, V* sum) {
  const hn::DFromV<V> d;
  auto above = hn::Zero(d), two_above = hn::Zero(d);
  V x[3];
  const auto add = [&](int tap, V dy) HWY_ATTR {
    HWY_UNROLL(3)
    for (int j = 0; j < 3; ++j) sum[tap + j] = hn::MulAdd(dy, x[j], sum[tap + j]);
  };
  for (int64_t y = 0; y < rows; ++y) {
    const auto here = gradient(y);
    load(y * stride, x);
    add(0, here);
    if constexpr (stride == 1) {
      add(3, above);
      add(6, two_above);
    } else {
      add(6, above);
      load(y * stride + 1, x);
      add(3, here);
    }
    two_above = above, above = here;
  }
  load(rows * stride, x);
  if constexpr (stride == 1) {
    add(3, above);
    add(6, two_above);
    load(rows + 1, x);
  }
  add(6, above);
}
template <int stride, class T, class Load>
HWY_INLINE void roll_weight_column(
    const T* const* lines, const int64_t* at, const Load* load, const T* dy, int64_t dy_row, int64_t rows, int64_t columns, Lanes<T>* sum) {
  const hn::ScalableTag<T> d;
  roll_weight_rows<stride>(
      rows,
      [&](int64_t k, Lanes<T>* x) HWY_ATTR {
        HWY_UNROLL(3)
        for (int j = 0; j < 3; ++j) x[j] = read_once(load[j](lines[k] + at[j]));
      },
      [&](int64_t row) HWY_ATTR { return out_of_order<stride, T>(load_first(d, dy + row * dy_row, columns)); }, sum);
}

// sums[tap][lane] += x * dy for a plane, for 3x3 kernels with equal strides; `at` is the source column of the first kernel column and first
// result.
template <int stride, class T>
void roll_weight(const T* const* lines, int64_t at, int64_t size, int64_t dilation, const T* dy, int64_t rows, int64_t columns, T* sums) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  Lanes<T> sum[9];
  HWY_UNROLL(9)
  for (int t = 0; t < 9; ++t) sum[t] = hn::LoadU(d, sums + t * lanes);
  for (int64_t c = 0; c < columns; c += lanes, at += lanes * stride) {
    using Whole = WholeColumns<stride, T>;
    using Inside = InsideColumns<stride, T>;
    const int64_t count = std::min(lanes, columns - c), reach = Whole::reach(stride, count);
    const int64_t places[3] = {at, at + dilation, at + 2 * dilation};
    if (count == lanes && at >= 0 && places[2] + reach <= size) {
      const Whole whole[3];
      roll_weight_column<stride>(lines, places, whole, dy + c, columns, rows, count, sum);
    } else if (stride == 2 && 2 * count <= lanes) {
      EvenColumns<T> even[3];
      for (int j = 0; j < 3; ++j) even[j] = EvenColumns<T>(places[j], std::min(size, places[j] + reach));
      roll_weight_column<stride>(lines, places, even, dy + c, columns, rows, count, sum);
    } else {  // values behind the last result must not be multiplied by the zeros of dy: they may be infinite
      Inside inside[3];
      for (int j = 0; j < 3; ++j) inside[j] = Inside(stride, places[j], std::min(size, places[j] + reach));
      roll_weight_column<stride>(lines, places, inside, dy + c, columns, rows, count, sum);
    }
  }
  HWY_UNROLL(9)
  for (int t = 0; t < 9; ++t) hn::StoreU(sum[t], d, sums + t * lanes);
}

// As above for `taps` neighbouring taps in a row of any kernel: results of row y read lines[y].
template <int taps, int stride, class T, class Load>
HWY_INLINE void add_weight_column(
    const T* const* lines, const int64_t* at, const Load* load, const T* dy, int64_t dy_row, int64_t rows, int64_t columns, Lanes<T>* sum) {
  const hn::ScalableTag<T> d;
  for (int64_t y = 0; y < rows; ++y) {
    const auto gradient = out_of_order<stride, T>(load_first(d, dy + y * dy_row, columns));
    const T* line = lines[y];
    HWY_UNROLL(8)
    for (int t = 0; t < taps; ++t) sum[t] = hn::MulAdd(gradient, load[t](line + at[t]), sum[t]);
  }
}

template <int taps, int stride, class T>
void add_weight(
    const T* const* lines, int64_t at, int64_t size, int64_t step, int64_t dilation, const T* dy, int64_t rows, int64_t columns, T* sums) {
  using Whole = WholeColumns<stride, T>;
  using Inside = InsideColumns<stride, T>;
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  Lanes<T> sum[taps];
  int64_t places[taps];
  Whole whole[taps];
  Inside inside[taps];
  HWY_UNROLL(8)
  for (int t = 0; t < taps; ++t) sum[t] = hn::LoadU(d, sums + t * lanes);
  for (int64_t c = 0; c < columns; c += lanes, at += lanes * step) {
    const int64_t count = std::min(lanes, columns - c), reach = Whole::reach(step, count);
    for (int t = 0; t < taps; ++t) places[t] = at + t * dilation;
    if (count == lanes && at >= 0 && places[taps - 1] + reach <= size) {
      for (int t = 0; t < taps; ++t) whole[t] = Whole(step);
      add_weight_column<taps, stride>(lines, places, whole, dy + c, columns, rows, count, sum);
    } else {  // values behind the last result must not be multiplied by the zeros of dy: they may be infinite
      for (int t = 0; t < taps; ++t) inside[t] = Inside(step, places[t], std::min(size, places[t] + reach));
      add_weight_column<taps, stride>(lines, places, inside, dy + c, columns, rows, count, sum);
    }
  }
  HWY_UNROLL(8)
  for (int t = 0; t < taps; ++t) hn::StoreU(sum[t], d, sums + t * lanes);
}

template <class T>
using AddWeight = void (*)(const T* const*, int64_t, int64_t, int64_t, int64_t, const T*, int64_t, int64_t, T*);

inline constexpr int kWeightTaps = 8;
template <int stride, class T>
AddWeight<T> add_weight_for(int64_t taps) {
  static constexpr auto table = []<int... t>(std::integer_sequence<int, t...>) { return std::array{add_weight<t + 1, stride, T>...}; }
  (std::make_integer_sequence<int, kWeightTaps>());
  return table[size_t(taps - 1)];
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
