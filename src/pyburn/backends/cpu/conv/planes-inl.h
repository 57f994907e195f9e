// Source planes split by stride, and the register tiles that read them, for each instruction set: include after foreach_target.h.
#if defined(PYBURN_CONV_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_CONV_PLANES_INL_H
#undef PYBURN_CONV_PLANES_INL_H
#else
#define PYBURN_CONV_PLANES_INL_H
#endif

#include <array>

#include "pyburn/backends/cpu/conv/plan.h"
#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/support/checked.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// --- results and sources by phase ---

inline int64_t floor_division(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// The index of the m-th result of a phase, and the number of results in the phase.
inline int64_t first_of_phase(const PlanAxis& a, int64_t phase, int64_t m) {
  if (!a.transposed) return m;
  return phase - a.padding - a.stride * floor_division(phase - a.padding, a.stride) + m * a.stride;
}
inline int64_t plan_count(const PlanAxis& a, int64_t phase) {
  const int64_t first = first_of_phase(a, phase, 0);
  return first < a.result ? divided_up(a.result - first, a.phases()) : 0;
}

// For a given tap, the m-th result of a phase reads element m + shift among the source elements whose index modulo the stride is `part`.
struct AxisStep {
  int64_t part, shift;
};
inline AxisStep axis_step(const PlanAxis& a, int64_t phase, int64_t tap) {
  if (a.transposed) return {0, a.base(first_of_phase(a, phase, 0)) + a.offset(phase, tap)};
  const int64_t at = tap * a.dilation - a.padding, shift = floor_division(at, a.stride);
  return {at - shift * a.stride, shift};
}
inline int64_t source_parts(const PlanAxis& a) { return a.transposed ? 1 : a.stride; }

struct ShiftRange {
  int64_t low, high;
  explicit ShiftRange(const PlanAxis& a) : low(INT64_MAX), high(INT64_MIN) {
    for (int64_t phase = 0; phase < a.phases(); ++phase)
      for (int64_t tap = 0; tap < a.kernel; ++tap) {
        if (!a.meets(phase, tap)) continue;
        const int64_t shift = axis_step(a, phase, tap).shift;
        low = std::min(low, shift), high = std::max(high, shift);
      }
  }
  int64_t span() const { return high - low; }
};

// Rows of `count` elements; the rest of the last vector is set to zero.
template <class T>
HWY_INLINE void copy_rows(const T* from, int64_t from_row, int64_t rows, int64_t count, T* to, int64_t to_row) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  const int64_t whole = count / lanes * lanes, rest = count - whole;
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (rest) hn::StoreU(load_first(d, from + whole, rest), d, to + whole);
  }
}

// As above for elements that are `parts` apart, for each of the first `parts` elements; the copies are part_size apart. Rows have `count`
// elements in total.
template <class T>
HWY_INLINE void split_rows(
    const T* from, int64_t from_row, int64_t rows, int64_t count, int64_t parts, T* to, int64_t to_row, int64_t part_size) {
  const hn::ScalableTag<T> d;
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
#if HWY_TARGET != HWY_SCALAR
    if (parts == 2) {
      constexpr int64_t lanes = kVector<T>;
      T* even = to;
      for (int64_t i = 0; i < count; i += 2 * lanes, even += lanes) {
        const auto low = load_first(d, from + i, count - i), high = load_first(d, from + i + lanes, count - i - lanes);
        hn::StoreU(hn::ConcatEven(d, high, low), d, even);
        hn::StoreU(hn::ConcatOdd(d, high, low), d, even + part_size);
      }
      continue;
    }
#endif
    for (int64_t part = 0; part < std::min(parts, count); ++part) {
      T* target = to + part * part_size;
      const int64_t here = divided_up(count - part, parts);
      for (int64_t i = 0; i < here; ++i) target[i] = from[part + i * parts];
      hn::StoreU(hn::Zero(d), d, target + here);
    }
  }
}

// A strip of a source channel as padded planes, one per residue of the row and column index modulo the stride.
template <class T>
struct PlaneSplit {
  static constexpr int64_t kBytes = 24 * 1024;  // planes of one channel in L1; of all channels, eight times as much
  const ConvPlan& plan;
  ShiftRange shift_y, shift_x;
  int64_t parts_y, parts_x;  // number of residues of the stride
  int64_t width;             // elements per plane
  int64_t lead;              // elements before a plane, so that the copied part is vector-aligned
  int64_t rows;              // results of a phase per strip

  explicit PlaneSplit(const ConvPlan& p)
      : plan(p),
        shift_y(p.y),
        shift_x(p.x),
        parts_y(source_parts(p.y)),
        parts_x(source_parts(p.x)),
        width(in_lines(divided_up(p.x.result, p.x.phases()) + shift_x.span())),
        lead(divided_up(first_column(), kVector<T>) * kVector<T> - first_column()) {
    const int64_t row_bytes = Checked(parts_y) * parts_x * width * int64_t(sizeof(T));
    const int64_t most = std::min(kBytes, 8 * kBytes / p.sources) / row_bytes - shift_y.span();
    const int64_t strips = divided_up(most_rows(), std::clamp<int64_t>(most, 1, most_rows()));
    rows = divided_up(most_rows(), strips);
  }
  int64_t first_column() const { return std::clamp<int64_t>(-shift_x.low, 0, width); }  // the part of the plane that is inside the source
  int64_t most_rows() const { return divided_up(plan.y.result, plan.y.phases()); }
  int64_t plane_size() const { return divided_up((rows + shift_y.span()) * width + 2 * kVector<T>, kVector<T>) * kVector<T>; }
  int64_t channel_size() const { return parts_y * parts_x * plane_size(); }

  // Offset from the first result of the strip to the element that a tap reads.
  int64_t offset(int64_t phase, int64_t tap) const {
    const AxisStep y = axis_step(plan.y, phase / plan.x.phases(), tap / plan.x.kernel);
    const AxisStep x = axis_step(plan.x, phase % plan.x.phases(), tap % plan.x.kernel);
    return lead + (y.part * parts_x + x.part) * plane_size() + (y.shift - shift_y.low) * width + x.shift - shift_x.low;
  }

  // The source rows that the results of a strip read.
  ConvAxis::Range source_rows(int64_t strip) const {
    const int64_t first = (strip * rows + shift_y.low) * parts_y, last = ((strip + 1) * rows + shift_y.high) * parts_y;
    return {std::clamp<int64_t>(first, 0, plan.y.source), std::clamp<int64_t>(last, 0, plan.y.source)};
  }

  // Copies the part of a channel that results [row, row_end) of each phase read. The planes must contain zeros or an earlier strip: columns
  // outside the source are not written.
  void copy(const T* channel, int64_t row, int64_t row_end, T* planes) const {
    // Columns from `first` on are inside the source; before them is padding, or the planes start inside the source.
    const int64_t first = first_column(), skipped = std::max<int64_t>(0, shift_x.low) * parts_x;
    const int64_t count = std::clamp<int64_t>(plan.x.source - skipped, 0, (width - first) * parts_x);
    const int64_t begin = row + shift_y.low, end = row_end + shift_y.high, source_row = plan.x.source * parts_y;
    for (int64_t part = 0; part < parts_y; ++part, planes += parts_x * plane_size()) {
      // Rows [top, bottom) are inside the source.
      const int64_t top = std::clamp<int64_t>(0, begin, end);
      const int64_t bottom = std::clamp<int64_t>((plan.y.source - part + parts_y - 1) / parts_y, top, end);
      for (int64_t x = 0; x < parts_x; ++x) {
        T* plane = planes + lead + x * plane_size();
        zero(plane, (top - begin) * width);
        zero(plane + (bottom - begin) * width, (end - bottom) * width);
      }
      const T* from = channel + top * source_row + part * plan.x.source + skipped;
      T* to = planes + lead + (top - begin) * width + first;
      if (parts_x == 1) copy_rows(from, source_row, bottom - top, count, to, width);
      else split_rows(from, source_row, bottom - top, count, parts_x, to, width, plane_size());
    }
  }

 private:
  // Round up to whole vectors if that adds little: then every row is vector-aligned.
  static int64_t in_lines(int64_t width) {
    const int64_t whole = divided_up(width, kVector<T>) * kVector<T>;
    return 4 * whole <= 5 * width ? whole : width;
  }
  // Copies whole vectors, so slightly too much: the excess is overwritten later or is spare room.
  static HWY_INLINE void zero(T* to, int64_t count) {
    const hn::ScalableTag<T> d;
    for (int64_t i = 0; i < count; i += kVector<T>) hn::StoreU(hn::Zero(d), d, to + i);
  }
};

// Splits the columns of a row by residue modulo `phases`; the parts are `width` apart.
template <class T>
void interleave_row(const T* apart, int64_t width, int64_t phases, int64_t count, T* to) {
#if HWY_TARGET != HWY_SCALAR
  if (phases == 2) {
    const hn::ScalableTag<T> d;
    constexpr int64_t lanes = kVector<T>;
    for (int64_t i = 0; i < count; i += 2 * lanes) {
      const auto even = hn::LoadU(d, apart + i / 2), odd = hn::LoadU(d, apart + width + i / 2);
      if (i + 2 * lanes <= count) {
        hn::StoreInterleaved2(even, odd, d, to + i);
        continue;
      }
      HWY_ALIGN T both[2 * lanes];
      hn::StoreInterleaved2(even, odd, d, both);
      store_first(hn::Load(d, both), d, to + i, count - i);
      if (count - i > lanes) store_first(hn::Load(d, both + lanes), d, to + i + lanes, count - i - lanes);
    }
    return;
  }
#endif
  for (int64_t i = 0; i < count; ++i) to[i] = apart[i % phases * width + i / phases];
}

// --- tiles ---

// Rows of results and vectors of pixels per tile. The number of output channels is usually a multiple of 8.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kSumRows = 8, kSumSlots = 3;
#else
inline constexpr int kSumRows = kTileRows, kSumSlots = kTileVectors;
#endif

// One term of a sum: the offsets of its source element and its weight.
struct Step {
  int64_t source, weight;
};

// The pixel vectors of one tile: offset in the source, offset in the result, number of valid lanes.
template <class T>
struct Slots {
  int64_t source[kSumSlots], row[kSumSlots], column[kSumSlots], lanes[kSumSlots];
  T* result[kSumSlots];
};

// For `rows` results and `slots` pixel vectors. Weights of consecutive results are weight_row apart, results result_row.
template <int rows, int slots, class T>
void sum_steps(const Step* steps, int64_t count, const T* source, const Slots<T>& at, const T* weight, int64_t weight_row, const T* bias,
    int64_t result_row) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> sum[rows][slots];
  const T* from[slots];
  HWY_UNROLL(4)
  for (int s = 0; s < slots; ++s) from[s] = source + at.source[s];
  HWY_UNROLL(8)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(4)
    for (int s = 0; s < slots; ++s) sum[r][s] = hn::Set(d, bias ? bias[r] : T(0));
  }
  for (int64_t p = 0; p < count; ++p) {
    const Step step = steps[p];
    hn::Vec<decltype(d)> right[slots];
    HWY_UNROLL(4)
    for (int s = 0; s < slots; ++s) right[s] = hn::LoadU(d, from[s] + step.source);
    HWY_UNROLL(8)
    for (int r = 0; r < rows; ++r) {
      const auto left = hn::Set(d, weight[step.weight + r * weight_row]);
      HWY_UNROLL(4)
      for (int s = 0; s < slots; ++s) sum[r][s] = hn::MulAdd(left, right[s], sum[r][s]);
    }
  }
  HWY_UNROLL(4)
  for (int s = 0; s < slots; ++s) {
    HWY_UNROLL(8)
    for (int r = 0; r < rows; ++r) store_first(sum[r][s], d, at.result[s] + r * result_row, at.lanes[s]);
  }
}

template <class T>
using SumSteps = void (*)(const Step*, int64_t, const T*, const Slots<T>&, const T*, int64_t, const T*, int64_t);

template <class T>
SumSteps<T> sum_steps_for(int64_t rows, int64_t slots) {
  static constexpr auto row = []<int s, int... r>(std::integral_constant<int, s>, std::integer_sequence<int, r...>) {
    return std::array<SumSteps<T>, kSumRows>{sum_steps<r + 1, s, T>...};
  };
  static constexpr auto table = []<int... s>(std::integer_sequence<int, s...>) {
    return std::array{row(std::integral_constant<int, s + 1>(), std::make_integer_sequence<int, kSumRows>())...};
  }
  (std::make_integer_sequence<int, kSumSlots>());
  return table[size_t(slots - 1)][size_t(rows - 1)];
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
