// Pooling windows, one vector of neighbouring windows at a time, for each instruction set: include after foreach_target.h. Rows are reduced
// along x once and kept; a window combines the rows that it covers.
#if defined(PYBURN_POOL_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_POOL_WINDOWS_INL_H
#undef PYBURN_POOL_WINDOWS_INL_H
#else
#define PYBURN_POOL_WINDOWS_INL_H
#endif

#include <limits>
#include <type_traits>
#include <vector>

#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/backends/cpu/pool_windows.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

struct Largest {
  template <class T>
  static constexpr T start = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  template <class T>
  static T join(T a, T b) {
    return b > a || b != b ? b : a;
  }
  template <class V>
  static HWY_INLINE V join_lanes(V a, V b) {
    if constexpr (!std::is_floating_point_v<hn::TFromV<V>>) return hn::Max(a, b);
    else if constexpr (HWY_TARGET <= HWY_AVX2) return hn::IfThenElse(hn::IsNaN(b), b, hn::Max(b, a));  // second: max returns its NaN
    else return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  }
};
struct Total {
  template <class T>
  static constexpr T start = T(0);
  template <class T>
  static T join(T a, T b) {
    return a + b;
  }
  template <class V>
  static HWY_INLINE V join_lanes(V a, V b) {
    return hn::Add(a, b);
  }
};

template <class T>
T divisor_of(const PoolWindows& w, int64_t z, int64_t y, int64_t x) {
  if (w.divisor) return T(w.divisor);
  return T(w.z.count(z, w.count_padding) * w.y.count(y, w.count_padding) * w.x.count(x, w.count_padding));
}

// All elements of a plane.
template <class Fold, class T>
T join_all(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  const auto start = hn::Set(d, Fold::template start<T>);
  hn::Vec<decltype(d)> a = start, b = start;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = Fold::join_lanes(a, hn::LoadU(d, x + i));
    b = Fold::join_lanes(b, hn::LoadU(d, x + i + lanes));
  }
  if (i + lanes <= n) a = Fold::join_lanes(a, hn::LoadU(d, x + i)), i += lanes;
  if (i < n) b = Fold::join_lanes(b, LanesInside<decltype(d)>(d, 0, n - i).load_or(d, x + i, start));
  HWY_ALIGN T last[lanes];
  hn::Store(Fold::join_lanes(a, b), d, last);
  T value = last[0];
  for (int64_t k = 1; k < lanes; ++k) value = Fold::join(value, last[k]);
  return value;
}

inline constexpr int64_t kPoolTaps = 16, kPoolLines = 128;  // elements of a window along x; rows that are kept

// Is the vectorised method faster? Requires few taps and strides that vector loads support.
inline bool has_regular_windows(const PoolWindows& w) {
  const bool steps = w.x.stride == 1 || (w.x.stride == 2 && HWY_TARGET != HWY_SCALAR);
  const bool regular = !w.z.adaptive && !w.y.adaptive && !w.x.adaptive;
  return regular && steps && w.x.kernel <= kPoolTaps && w.z.kernel * (w.y.dilation * (w.y.kernel - 1) + 1) <= kPoolLines;
}

// A row of windows, reduced along x. `kernel`: the number of taps, 0 if known only at run time.
template <class Fold, int kernel, int stride, class T>
class alignas(64) LineOfWindows {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

 public:
  LineOfWindows(const PoolAxis& axis, int64_t o)
      : taps_(kernel ? kernel : axis.kernel), dilation_(axis.dilation), at_(o * stride - axis.padding) {
    for (int64_t k = 0; k < taps_; ++k)
      for (int part = 0; part < stride; ++part)
        inside_[k * stride + part] = LanesInside<D>(D(), at_ + k * dilation_ + part * kVector<T>, axis.in);
  }
  HWY_INLINE V join(const T* line) const {
    V value = load(line, 0);
    HWY_UNROLL(3)
    for (int64_t k = 1; k < (kernel ? kernel : taps_); ++k) value = Fold::join_lanes(value, load(line, k));
    return value;
  }

 private:
  HWY_INLINE V load(const T* line, int64_t k) const {
    const D d;
    const V outside = hn::Set(d, Fold::template start<T>);
    const T* from = line + at_ + k * dilation_;
    const V near = inside_[k * stride].load_or(d, from, outside);
#if HWY_TARGET != HWY_SCALAR
    if constexpr (stride == 2) return hn::ConcatEven(d, inside_[k * stride + 1].load_or(d, from + kVector<T>, outside), near);
#endif
    return near;
  }

  int64_t taps_, dilation_, at_;
  LanesInside<D> inside_[(kernel ? kernel : kPoolTaps) * stride];
};

// y = make(value, z, y, x) for each window of a plane, for any number of planes. make receives vectors; the last one may extend past the
// row.
template <class Fold, int kernel, int stride, class T>
class RegularWindows {
 public:
  explicit RegularWindows(const PoolWindows& windows) : w(windows) {
    for (int64_t o = 0; o < w.x.out; o += kLanes) columns_.emplace_back(w.x, o);
    for (int64_t j = 0; j < w.y.out; ++j) rows_.push_back({w.y.first(j), w.y.last(j)});
  }

  template <class Make>
  void run(const T* x, T* y, Make make) const {
    const hn::ScalableTag<T> d;
    const int64_t step = w.y.dilation, line_size = w.x.in;
    HWY_ALIGN T kept[kPoolLines * kLanes];
    for (int64_t i = 0; i < w.z.out; ++i) {
      const int64_t z = w.z.first(i), depth = divided(w.z.last(i) - z, w.z.dilation), most = kPoolLines / std::max<int64_t>(1, depth);
      for (int64_t begin = 0, end; begin < w.y.out; begin = end) {  // rows of windows whose source rows are kept together
        const int64_t line = std::max<int64_t>(0, w.y.begin(begin));
        for (end = begin + 1; end < w.y.out && rows_[size_t(end)].last - line <= most;) ++end;
        const int64_t count = std::max<int64_t>(0, rows_[size_t(end - 1)].last - line);
        for (int64_t o = 0; o < w.x.out; o += kLanes) {
          const auto& column = columns_[size_t(o / kLanes)];
          for (int64_t k = 0; k < depth; ++k) {
            const T* from = x + ((z + k * w.z.dilation) * w.y.in + line) * line_size;
            for (int64_t l = 0; l < count; ++l, from += line_size) hn::Store(column.join(from), d, kept + (k * count + l) * kLanes);
          }
          for (int64_t j = begin; j < end; ++j) {
            const Range row = rows_[size_t(j)];
            auto value = hn::Set(d, Fold::template start<T>);
            for (int64_t k = 0; k < depth; ++k)
              for (int64_t l = row.first; l < row.last; l += step)
                value = Fold::join_lanes(value, hn::Load(d, kept + (k * count + l - line) * kLanes));
            store_first(make(value, i, j, o), d, y + (i * w.y.out + j) * w.x.out + o, w.x.out - o);
          }
        }
      }
    }
  }

 private:
  static constexpr int64_t kLanes = kVector<T>;
  struct Range {
    int64_t first, last;
  };
  static int64_t divided(int64_t n, int64_t step) { return n > 0 ? (n - 1) / step + 1 : 0; }

  const PoolWindows& w;
  std::vector<LineOfWindows<Fold, kernel, stride, T>> columns_;
  std::vector<Range> rows_;
};

// Calls body(windows) with the window reduction that suits w.
template <class Fold, class T, class Body>
void with_regular_windows(const PoolWindows& w, Body body) {
  const bool twice = w.x.stride == 2;
  if (w.x.kernel == 3) return twice ? body(RegularWindows<Fold, 3, 2, T>(w)) : body(RegularWindows<Fold, 3, 1, T>(w));
  if (w.x.kernel == 2) return twice ? body(RegularWindows<Fold, 2, 2, T>(w)) : body(RegularWindows<Fold, 2, 1, T>(w));
  twice ? body(RegularWindows<Fold, 0, 2, T>(w)) : body(RegularWindows<Fold, 0, 1, T>(w));
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
