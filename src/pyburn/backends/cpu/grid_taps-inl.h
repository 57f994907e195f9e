// The elements around the points of a grid, by vectors of points. Compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_GRID_TAPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_GRID_TAPS_INL_H
#undef PYBURN_GRID_TAPS_INL_H
#else
#define PYBURN_GRID_TAPS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/grid_block.h"
#include "pyburn/backends/cpu/sampling-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements of a plane at the points, and their right neighbours: one load fetches both, because gathers are slow.
template <class D>
struct PairVectors {
  hn::Vec<D> first, second;
};
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
HWY_INLINE __m128 two_pairs(const float* plane, const int32_t* places) {
  const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(plane + places[0]));
  return _mm_loadh_pi(_mm_castsi128_ps(first), reinterpret_cast<const __m64*>(plane + places[1]));
}
HWY_INLINE __m256 four_pairs(const float* plane, const int32_t* places) {  // 0, 1, 4 and 5: a shuffle then restores the order of the points
  return _mm256_insertf128_ps(_mm256_castps128_ps256(two_pairs(plane, places)), two_pairs(plane, places + 4), 1);
}
HWY_INLINE __m256d two_pairs(const double* plane, const int64_t* places) {  // 0 and 2
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(plane + places[0])), _mm_loadu_pd(plane + places[2]), 1);
}
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE __m512 eight_pairs(const float* plane, const int32_t* places) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(four_pairs(plane, places)), four_pairs(plane, places + 8), 1);
}
template <class D>
HWY_INLINE PairVectors<D> load_pairs(D, const float* plane, const int32_t* places) {
  const __m512 a = eight_pairs(plane, places), b = eight_pairs(plane, places + 2);
  return {hn::Vec<D>{_mm512_shuffle_ps(a, b, 0x88)}, hn::Vec<D>{_mm512_shuffle_ps(a, b, 0xDD)}};
}
template <class D>
HWY_INLINE PairVectors<D> load_pairs(D, const double* plane, const int64_t* places) {
  auto four = [&](const int64_t* p) HWY_ATTR {  // 0, 2, 4 and 6
    const __m512d half = _mm512_castpd256_pd512(two_pairs(plane, p));
    return _mm512_insertf64x4(half, two_pairs(plane, p + 4), 1);
  };
  const __m512d a = four(places), b = four(places + 1);
  return {hn::Vec<D>{_mm512_unpacklo_pd(a, b)}, hn::Vec<D>{_mm512_unpackhi_pd(a, b)}};
}
#else
template <class D>
HWY_INLINE PairVectors<D> load_pairs(D, const float* plane, const int32_t* places) {
  const __m256 a = four_pairs(plane, places), b = four_pairs(plane, places + 2);
  return {hn::Vec<D>{_mm256_shuffle_ps(a, b, 0x88)}, hn::Vec<D>{_mm256_shuffle_ps(a, b, 0xDD)}};
}
template <class D>
HWY_INLINE PairVectors<D> load_pairs(D, const double* plane, const int64_t* places) {
  const __m256d a = two_pairs(plane, places), b = two_pairs(plane, places + 1);
  return {hn::Vec<D>{_mm256_unpacklo_pd(a, b)}, hn::Vec<D>{_mm256_unpackhi_pd(a, b)}};
}
#endif
#else
template <class D, class T>
HWY_INLINE PairVectors<D> load_pairs(D d, const T* plane, const Place<T>* places) {
  const auto at = hn::LoadU(hn::RebindToSigned<D>(), places);
  return {hn::GatherIndex(d, plane, at), hn::GatherIndex(d, plane + 1, at)};
}
#endif

// Maps coordinates outside the image as the padding mode says, and computes the derivative of the mapping.
template <class D, class T>
HWY_INLINE void pad(D d, const GridAxis<T>& a, hn::Vec<D>& x, hn::Vec<D>& pace) {
  const auto zero = hn::Zero(d), one = hn::Set(d, T(1));
  if (a.mirror) {
    const auto low = hn::Set(d, a.low), high = hn::Set(d, a.high), span = hn::Set(d, a.high - a.low);
    const auto from = hn::Sub(x, low), distance = hn::Abs(from), turns = hn::Floor(hn::Div(distance, span));
    const auto rest = hn::Sub(distance, hn::Mul(turns, span));
    const auto odd = hn::Eq(hn::Sub(turns, hn::Mul(hn::Floor(hn::Mul(turns, hn::Set(d, T(0.5)))), hn::Set(d, T(2)))), one);
    pace = hn::IfThenElse(hn::Xor(hn::Lt(from, zero), odd), hn::Neg(pace), pace);
    x = a.high > a.low ? hn::IfThenElse(odd, hn::Sub(high, rest), hn::Add(rest, low)) : hn::Mul(x, zero);
  }
  if (a.clip) {
    const auto last = hn::Set(d, a.last);
    const auto below = hn::Le(x, zero), above = hn::Ge(x, last);
    pace = hn::IfThenElseZero(hn::Not(hn::Or(below, above)), pace);
    x = hn::IfThenElse(below, zero, hn::IfThenElse(above, last, x));
  }
}

// The taps of vectors of points along one dimension.
template <int taps, class D>
struct AxisVectors {
  hn::Vec<D> element[taps], share[taps], slope[taps];
};
template <int taps, class D, class T>
HWY_INLINE AxisVectors<taps, D> axis_vectors(D d, const GridAxis<T>& a, hn::Vec<D> grid) {
  const auto one = hn::Set(d, T(1)), moved = hn::Add(grid, one);
  auto pace = hn::Set(d, a.pace);
  auto at = a.align ? hn::Mul(moved, pace) : hn::Mul(hn::Sub(hn::Mul(moved, hn::Set(d, a.extent)), one), hn::Set(d, T(0.5)));
  if constexpr (taps < 4) pad(d, a, at, pace);
  if constexpr (taps == 1) return {{hn::Round(at)}, {one}, {hn::Zero(d)}};
  const auto lower = hn::Floor(at), x = hn::Sub(at, lower);
  if constexpr (taps == 2) {
    return {{lower, hn::Add(lower, one)}, {hn::Sub(one, x), x}, {hn::Neg(pace), pace}};
  } else if constexpr (taps == 4) {  // see cubic_shares() and cubic_slopes() in ops/grid_taps.cpp
    auto set = [&](double c) HWY_ATTR { return hn::Set(d, T(c)); };
    auto near = [&](auto v) HWY_ATTR { return hn::MulAdd(hn::Mul(hn::MulAdd(v, set(1.25), set(-2.25)), v), v, one); };
    auto far = [&](auto v) HWY_ATTR { return hn::MulAdd(hn::MulAdd(hn::MulAdd(v, set(-0.75), set(3.75)), v, set(-6)), v, set(3)); };
    auto near_slope = [&](auto v) HWY_ATTR { return hn::Mul(hn::Mul(hn::MulAdd(v, set(3.75), set(-4.5)), v), pace); };
    auto far_slope = [&](auto v) HWY_ATTR { return hn::Mul(hn::MulAdd(hn::MulAdd(v, set(-2.25), set(7.5)), v, set(-6)), pace); };
    const auto before = hn::Add(x, one), behind = hn::Sub(one, x), beyond = hn::Sub(set(2), x);
    AxisVectors<taps, D> v{{hn::Sub(lower, one), lower, hn::Add(lower, one), hn::Add(lower, set(2))},
        {far(before), near(x), near(behind), far(beyond)},
        {far_slope(before), near_slope(x), hn::Neg(near_slope(behind)), hn::Neg(far_slope(beyond))}};
    for (auto& e : v.element) pad(d, a, e, pace);
    return v;
  }
}

// Combines indices of all dimensions to a linear index: in doubles for double elements, because few processors multiply 64-bit integers.
template <class D>
HWY_INLINE auto number(D d, hn::Vec<D> element) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) return hn::ConvertTo(hn::RebindToSigned<D>(), element);
  else return (void)d, element;
}
template <class D, class N, class T>
HWY_INLINE N number_along(D d, N before, const GridAxis<T>& a, hn::Vec<D> element) {
  if constexpr (sizeof(T) == 4) return hn::Add(hn::Mul(before, hn::Set(hn::RebindToSigned<D>(), a.elements)), number(d, element));
  else return hn::Add(hn::Mul(before, hn::Set(d, a.extent)), element);
}
template <class D, class N>
HWY_INLINE auto place_of(D, N n) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) return n;
  else return hn::ConvertTo(hn::RebindToSigned<D>(), n);
}

constexpr int combinations(int taps, int axes) { return axes == 0 ? 1 : taps * combinations(taps, axes - 1); }

template <int taps, int axes, class T>
void find_taps_of(const GridImage<T>& image, const T* grid, int64_t n, GridBlock<T>& block) {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  const D d;
  const hn::RebindToSigned<D> di;
  const auto lanes = int64_t(hn::Lanes(d));
  const GridAxis<T>*a = image.axis, &inner = a[axes - 1];
  for (int64_t i = 0; i < n; i += lanes) {
    HWY_ALIGN T rest[axes * HWY_LANES(T)];
    const T* from = grid + i * axes;
    if (n - i < lanes) {  // points in the interior of the image are appended at the end
      std::fill_n(rest, axes * lanes, T(0));
      std::copy_n(from, (n - i) * axes, rest);
      from = rest;
    }
    V coordinate[axes];  // the last one belongs to the first dimension
    if constexpr (axes == 2) hn::LoadInterleaved2(d, from, coordinate[1], coordinate[0]);
    else hn::LoadInterleaved3(d, from, coordinate[2], coordinate[1], coordinate[0]);
    AxisVectors<taps, D> v[axes];
    for (int j = 0; j < axes; ++j) v[j] = axis_vectors<taps>(d, a[j], coordinate[j]);
    if (block.with_slopes)
      for (int j = 0; j < axes; ++j)
        for (int k = 0; k < taps; ++k)
          hn::Store(v[j].share[k], d, block.share(j, k) + i), hn::Store(v[j].slope[k], d, block.slope(j, k) + i);

    block.neighbours[i] = false;
    if constexpr (taps > 1) {
      auto side_by_side = [&](int j) HWY_ATTR {  // and inside: reflection and border padding always yield such elements
        const V &first = v[j].element[0], &last = v[j].element[taps - 1];
        const auto inside = hn::And(hn::Ge(first, hn::Zero(d)), hn::Le(last, hn::Set(d, a[j].last)));
        return hn::And(inside, hn::Eq(last, hn::Add(first, hn::Set(d, T(taps - 1)))));
      };
      auto all = side_by_side(0);
      for (int j = 1; j < axes; ++j) all = hn::And(all, side_by_side(j));
      if (HWY_LIKELY(hn::AllTrue(d, all))) {
        block.neighbours[i] = true;
        auto first = number(d, v[0].element[0]);
        for (int j = 1; j < axes; ++j) first = number_along(d, first, a[j], v[j].element[0]);
        const auto start = place_of(d, first);
        for (int row = 0; row < combinations(taps, axes - 1); ++row) {
          const int high = axes == 3 ? row / taps : row, low = row % taps;
          const Place<T> further = (axes == 3 ? high * a[1].elements + low : row) * inner.elements;
          const auto weight = axes == 3 ? hn::Mul(v[0].share[high], v[1].share[low]) : v[0].share[row];
          hn::Store(hn::Add(start, hn::Set(di, further)), di, block.place(row * taps) + i);
          for (int k = 0; k < taps; ++k) hn::Store(hn::Mul(weight, v[axes - 1].share[k]), d, block.weight(row * taps + k) + i);
        }
        continue;
      }
    }
    hn::Mask<D> inside[axes][taps];
    for (int j = 0; j < axes; ++j)
      for (int k = 0; k < taps; ++k) {
        V& e = v[j].element[k];  // NaN counts as outside
        inside[j][k] = hn::And(hn::Ge(e, hn::Zero(d)), hn::Le(e, hn::Set(d, a[j].last)));
        e = hn::IfThenElseZero(inside[j][k], e);
      }
    for (int row = 0; row < combinations(taps, axes - 1); ++row) {
      const int high = axes == 3 ? row / taps : row, low = row % taps;
      auto before = number(d, v[0].element[high]);
      auto weight = v[0].share[high];
      auto both = inside[0][high];
      if constexpr (axes == 3) {
        before = number_along(d, before, a[1], v[1].element[low]);
        weight = hn::Mul(weight, v[1].share[low]);
        both = hn::And(both, inside[1][low]);
      }
      for (int k = 0; k < taps; ++k) {
        const auto place = place_of(d, number_along(d, before, inner, v[axes - 1].element[k]));
        const auto counts = hn::RebindMask(di, hn::And(both, inside[axes - 1][k]));
        hn::Store(hn::IfThenElse(counts, place, hn::Set(di, Place<T>(-1))), di, block.place(row * taps + k) + i);
        hn::Store(hn::Mul(weight, v[axes - 1].share[k]), d, block.weight(row * taps + k) + i);
      }
    }
  }
}
template <class T>
void find_taps(const GridImage<T>& image, const T* grid, int64_t n, GridBlock<T>& block) {
  const bool flat = image.axes == 2;
  const auto of_two = image.taps == 1 ? find_taps_of<1, 2, T> : image.taps == 2 ? find_taps_of<2, 2, T> : find_taps_of<4, 2, T>;
  const auto of_three = image.taps == 1 ? find_taps_of<1, 3, T> : image.taps == 2 ? find_taps_of<2, 3, T> : find_taps_of<4, 3, T>;
  (flat ? of_two : of_three)(image, grid, n, block);
}

// The gradient with respect to the grid, from the gradients of the tap weights.
template <int taps, int axes, class T>
void grid_of_sums_of(const GridBlock<T>& block, const T* sums, T* dgrid, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += lanes) {
    hn::Vec<decltype(d)> coordinate[axes];
    for (int moving = 0; moving < axes; ++moving) {
      hn::Vec<decltype(d)> left[combinations(taps, axes)];  // summed dimension by dimension, last first
      for (int k = 0; k < combinations(taps, axes); ++k) left[k] = hn::Load(d, sums + k * kGridBlock + i);
      for (int j = axes - 1; j >= 0; --j)
        for (int row = 0; row < combinations(taps, j); ++row) {
          auto sum = hn::Zero(d);
          for (int k = 0; k < taps; ++k)
            sum = hn::MulAdd(left[row * taps + k], hn::Load(d, (j == moving ? block.slope(j, k) : block.share(j, k)) + i), sum);
          left[row] = sum;
        }
      coordinate[moving] = left[0];
    }
    HWY_ALIGN T rest[axes * HWY_LANES(T)];
    T* to = n - i < lanes ? rest : dgrid + i * axes;
    if constexpr (axes == 2) hn::StoreInterleaved2(coordinate[1], coordinate[0], d, to);
    else hn::StoreInterleaved3(coordinate[2], coordinate[1], coordinate[0], d, to);
    if (to == rest) std::copy_n(rest, (n - i) * axes, dgrid + i * axes);
  }
}
template <class T>
void grid_of_sums(const GridImage<T>& image, const GridBlock<T>& block, const T* sums, T* dgrid, int64_t n) {
  if (image.axes == 2) (image.taps == 2 ? grid_of_sums_of<2, 2, T> : grid_of_sums_of<4, 2, T>)(block, sums, dgrid, n);
  else (image.taps == 2 ? grid_of_sums_of<2, 3, T> : grid_of_sums_of<4, 3, T>)(block, sums, dgrid, n);
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
