// The elements around the places that a grid names, in one pass over the grid. Coordinates are computed as the decomposition does, without
// fused products (see CMakeLists.txt): one that lies between two elements must go to the same one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/grid_sample.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/ops/grid_sample.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_GRID_SAMPLE_TYPES
#define PYBURN_GRID_SAMPLE_TYPES
namespace pyburn::cpu {

// Places at a time, of one image.
constexpr int64_t kGridBlock = 128;

// One axis of an image, and how coordinates along it are read.
template <class T>
struct GridAxis {
  T extent, last, half;
  bool align, zeros, reflection;
  int64_t taps;

  GridAxis(const GridTaps& a, int64_t n)
      : extent(T(n)),
        last(T(n - 1)),
        half(T((double(n) - 1) / 2)),
        align(a.align_corners),
        zeros(a.padding_mode == "zeros"),
        reflection(a.padding_mode == "reflection"),
        taps(a.per_axis()) {}
};

// Of one axis, for each tap: the element of each place, -1 where it lies outside, and how much it counts.
template <class T>
struct AxisTaps {
  T element[4][kGridBlock], share[4][kGridBlock];
};

template <class T>
struct GridFunctions {
  void (*axis)(const GridAxis<T>&, const T* grid, int64_t step, int64_t n, AxisTaps<T>&);
  void (*combine)(const GridTaps&, const AxisTaps<T>*, int64_t combination, int64_t n, int64_t* places, T* weights);
};
struct GridTable {
  GridFunctions<float> single;
  GridFunctions<double> twofold;
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Loops over places, which the compiler turns into vectors.

// Coordinates outside, moved inside as the padding mode says.
template <class T>
HWY_INLINE void pad(const GridAxis<T>& axis, T* HWY_RESTRICT x, int64_t n) {
  if (axis.reflection) {
    const T low = axis.align ? T(0) : T(-0.5), high = axis.align ? axis.last : axis.extent - T(0.5), span = high - low;
    for (int64_t i = 0; i < n; ++i) {
      const T distance = std::abs(x[i] - low), turns = std::floor(distance / span), rest = distance - turns * span;
      const T mirrored = turns - std::floor(turns / T(2)) * T(2) == T(1) ? high - rest : rest + low;
      x[i] = span > T(0) ? mirrored : x[i] * T(0);
    }
  }
  if (!axis.zeros)
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] <= T(0) ? T(0) : x[i] >= axis.last ? axis.last : x[i];
}
template <class T>
HWY_INLINE void mark_outside(const GridAxis<T>& axis, T* HWY_RESTRICT x, int64_t n) {  // NaN lies outside, too
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] >= T(0) && x[i] <= axis.last ? x[i] : T(-1);
}
template <class T>
HWY_INLINE T near(T d) {
  return ((d * T(1.25) - T(2.25)) * d) * d + T(1);
}
template <class T>
HWY_INLINE T far(T d) {
  return ((d * T(-0.75) + T(3.75)) * d - T(6)) * d + T(3);
}

template <class T>
void axis_taps(const GridAxis<T>& axis, const T* grid, int64_t step, int64_t n, AxisTaps<T>& taps) {
  T at[kGridBlock];
  for (int64_t i = 0; i < n; ++i)
    at[i] = axis.align ? (grid[i * step] + T(1)) * axis.half : ((grid[i * step] + T(1)) * axis.extent - T(1)) / T(2);
  if (axis.taps < 4) pad(axis, at, n);
  if (axis.taps == 1) {
    for (int64_t i = 0; i < n; ++i) taps.element[0][i] = std::nearbyint(at[i]), taps.share[0][i] = T(1);
  } else if (axis.taps == 2) {
    for (int64_t i = 0; i < n; ++i) {
      const T lower = std::floor(at[i]), x = at[i] - lower;
      taps.element[0][i] = lower, taps.element[1][i] = lower + T(1);
      taps.share[0][i] = T(1) - x, taps.share[1][i] = x;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      const T lower = std::floor(at[i]), x = at[i] - lower;
      taps.share[0][i] = far(x + T(1)), taps.share[1][i] = near(x), taps.share[2][i] = near(T(1) - x), taps.share[3][i] = far(T(2) - x);
      for (int k = 0; k < 4; ++k) taps.element[k][i] = lower + T(k - 1);
    }
    for (int k = 0; k < 4; ++k) pad(axis, taps.element[k], n);
  }
  for (int64_t k = 0; k < axis.taps; ++k) mark_outside(axis, taps.element[k], n);
}

// Places and weights of one combination of taps, one per axis.
template <class T>
void combine(
    const GridTaps& a, const AxisTaps<T>* taps, int64_t combination, int64_t n, int64_t* HWY_RESTRICT places, T* HWY_RESTRICT weights) {
  const int64_t per_axis = a.per_axis();
  for (int64_t j = 0, rest = combination; j < a.extents.size(); ++j, rest /= per_axis) {
    const T *element = taps[j].element[rest % per_axis], *share = taps[j].share[rest % per_axis];
    if (j == 0) {
      for (int64_t i = 0; i < n; ++i) places[i] = int64_t(element[i]), weights[i] = share[i];
      continue;
    }
    const int64_t extent = a.extents[j];
    for (int64_t i = 0; i < n; ++i) {
      const auto next = int64_t(element[i]);
      places[i] = (places[i] | next) < 0 ? -1 : places[i] * extent + next;
      weights[i] *= share[i];
    }
  }
}

GridTable make_grid_taps() { return {{axis_taps<float>, combine<float>}, {axis_taps<double>, combine<double>}}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(make_grid_taps);

template <class T>
const GridFunctions<T>& functions() {
  static const GridTable table = HWY_DYNAMIC_DISPATCH(make_grid_taps)();
  if constexpr (std::is_same_v<T, float>) return table.single;
  else return table.twofold;
}

template <class T>
void grid_taps(const GridTaps& a, Inputs in, Outputs out) {
  const PlainInput<T> grid(*in[0]);
  const PlainOutput<int64_t> places(out[0]);
  const PlainOutput<T> weights(out[1]);
  const int64_t axes = a.extents.size(), results = grid.shape()[1], count = a.count(), blocks = (results + kGridBlock - 1) / kGridBlock;
  SmallVector<GridAxis<T>, 3> axis;
  for (int64_t extent : a.extents) axis.push_back(GridAxis<T>(a, extent));
  parallel_for(grid.shape()[0] * blocks, std::max<int64_t>(1, kGrain / (count * kGridBlock)), [&](int64_t begin, int64_t end) {
    AxisTaps<T> taps[3];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t image = b / blocks, first = b % blocks * kGridBlock, n = std::min(kGridBlock, results - first);
      for (int64_t j = 0; j < axes; ++j)  // the last coordinate belongs to the first axis
        functions<T>().axis(axis[j], grid.data() + (image * results + first) * axes + axes - 1 - j, axes, n, taps[j]);
      for (int64_t c = 0; c < count; ++c) {
        const int64_t to = (image * count + c) * results + first;
        functions<T>().combine(a, taps, c, n, places.data() + to, weights.data() + to);
      }
    }
  });
}

}  // namespace

void register_grid_sample(KernelTable& kernels) {
  kernels.add<grid_taps<float>>(op::grid_taps, {DType::float32, DType::float16, DType::bfloat16});
  kernels.add<grid_taps<double>>(op::grid_taps, DType::float64);
}

}  // namespace pyburn::cpu
#endif
