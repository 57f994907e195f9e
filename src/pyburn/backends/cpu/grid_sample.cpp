// The elements around the places that a grid names, in one pass over the grid. Coordinates are computed as the decomposition does, without
// fused products (see CMakeLists.txt): one that lies between two elements must go to the same one.
#include "pyburn/ops/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

template <class T>
class Axis {
 public:
  Axis(const GridTaps& a, int64_t extent)
      : extent_(T(extent)),
        half_(T((double(extent) - 1) / 2)),
        align_(a.align_corners),
        zeros_(a.padding_mode == "zeros"),
        reflection_(a.padding_mode == "reflection"),
        count_(a.per_axis()) {}

  // For one coordinate: the elements that count, -1 where they lie outside, and how much.
  void taps(T grid, int64_t* place, T* share) const {
    const T free = align_ ? (grid + T(1)) * half_ : ((grid + T(1)) * extent_ - T(1)) / T(2);
    if (count_ == 4) {
      const T lower = std::floor(free), x = free - lower;
      const T shares[] = {far(x + T(1)), near(x), near(T(1) - x), far(T(2) - x)};
      for (int k = 0; k < 4; ++k) place[k] = element(padded(lower + T(k - 1))), share[k] = shares[k];
      return;
    }
    const T at = padded(free);
    if (count_ == 1) {
      place[0] = element(std::nearbyint(at)), share[0] = T(1);
      return;
    }
    const T lower = std::floor(at), x = at - lower;
    place[0] = element(lower), share[0] = T(1) - x;
    place[1] = element(lower + T(1)), share[1] = x;
  }

 private:
  static T near(T d) { return ((d * T(1.25) - T(2.25)) * d) * d + T(1); }
  static T far(T d) { return ((d * T(-0.75) + T(3.75)) * d - T(6)) * d + T(3); }
  int64_t element(T x) const { return x >= T(0) && x <= extent_ - T(1) ? int64_t(x) : -1; }  // false for NaN, too
  T padded(T x) const {
    if (reflection_) x = align_ ? reflected(x, T(0), extent_ - T(1)) : reflected(x, T(-0.5), extent_ - T(0.5));
    return zeros_ ? x : x <= T(0) ? T(0) : x >= extent_ - T(1) ? extent_ - T(1) : x;
  }
  static T reflected(T x, T low, T high) {
    const T span = high - low;
    if (span <= T(0)) return x * T(0);
    const T distance = std::abs(x - low), turns = std::floor(distance / span), rest = distance - turns * span;
    return turns - std::floor(turns / T(2)) * T(2) == T(1) ? high - rest : rest + low;
  }

  T extent_, half_;
  bool align_, zeros_, reflection_;
  int64_t count_;
};

template <class T>
void grid_taps(const GridTaps& a, Inputs in, Outputs out) {
  const PlainInput<T> grid(*in[0]);
  const PlainOutput<int64_t> places(out[0]);
  const PlainOutput<T> weights(out[1]);
  const int64_t axes = a.extents.size(), results = grid.shape()[1], per_axis = a.per_axis(), count = a.count();
  SmallVector<Axis<T>, 3> axis;
  for (int64_t extent : a.extents) axis.push_back(Axis<T>(a, extent));
  parallel_for(grid.shape()[0] * results, std::max<int64_t>(1, kGrain / (4 * count)), [&](int64_t begin, int64_t end) {
    int64_t place[3][4];
    T share[3][4];
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < axes; ++j)  // the last coordinate belongs to the first axis
        axis[j].taps(grid.data()[i * axes + axes - 1 - j], place[j], share[j]);
      const int64_t to = i / results * count * results + i % results;
      for (int64_t c = 0; c < count; ++c) {
        int64_t at = 0;
        T weight = 1;
        for (int64_t j = 0, rest = c; j < axes; ++j, rest /= per_axis) {
          const int64_t k = rest % per_axis;
          at = at < 0 || place[j][k] < 0 ? -1 : at * a.extents[j] + place[j][k];
          weight *= share[j][k];
        }
        places.data()[to + c * results] = at;
        weights.data()[to + c * results] = weight;
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
