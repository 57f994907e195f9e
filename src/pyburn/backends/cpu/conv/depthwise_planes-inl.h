// Depthwise sums for planes of only a few vectors, for each instruction set: include after foreach_target.h. Processing such planes row by
// row would leave most lanes empty, so a whole plane is treated as one row and taps outside the image are masked.
#if defined(PYBURN_DEPTHWISE_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DEPTHWISE_PLANES_INL_H
#undef PYBURN_DEPTHWISE_PLANES_INL_H
#else
#define PYBURN_DEPTHWISE_PLANES_INL_H
#endif

#include <vector>

#include "pyburn/backends/cpu/conv/plan.h"
#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

class SmallPlanes {
 public:
  // Do source and result have the same size, and does a plane have clearly fewer vectors than rows?
  static bool suit(const ConvPlan& p) {
    const int64_t size = p.y.result * p.x.result;
    const bool same = p.y.stride == 1 && p.x.stride == 1 && p.y.source == p.y.result && p.x.source == p.x.result;
    // On other targets a masked load reads the whole vector.
    return HWY_TARGET <= HWY_AVX2 && same && size <= kVectors * kLanes && 3 * divided_up(size, kLanes) <= 2 * p.y.result;
  }

  explicit SmallPlanes(const ConvPlan& p) : size_(p.y.result * p.x.result) {
    for (const ConvPlan::Tap& tap : p.phases[0]) {
      const int64_t y = p.y.base(0) + tap.y, x = p.x.base(0) + tap.x;
      Tap& to = taps_.emplace_back(Tap{y * p.x.source + x, tap.index, {}});
      for (int64_t i = 0; i < size_; ++i) {
        const int64_t row = i / p.x.result + y, column = i % p.x.result + x;
        const bool inside = row >= 0 && row < p.y.source && column >= 0 && column < p.x.source;
        to.inside[i / kLanes] |= uint64_t(inside) << i % kLanes;
      }
    }
  }

  // Consecutive planes, each with its own weights.
  void sum(const float* source, const float* weights, const float* bias, int64_t count, float* result) const {
    const int64_t taps = int64_t(taps_.size());
    for (int64_t i = 0; i < count;) {
      const bool several = i + kPlanes <= count;
      const float* start = bias ? bias + i : nullptr;
      if (several) sum_planes<kPlanes>(source + i * size_, weights + i * taps, start, result + i * size_);
      else sum_planes<1>(source + i * size_, weights + i * taps, start, result + i * size_);
      i += several ? kPlanes : 1;
    }
  }

  // sums[tap][lane] += x * dy for `count` planes of x and dy, which are `x_step` and `dy_step` apart.
  void add_weight(const float* x, int64_t x_step, const float* dy, int64_t dy_step, int64_t count, float* sums) const {
    const D d;
    for (int64_t i = 0; i < count; ++i, x += x_step, dy += dy_step) {
      V gradient[kVectors];
      for (int v = 0; v < kVectors; ++v) gradient[v] = load_first(d, dy + v * kLanes, size_ - v * kLanes);
      for (const Tap& tap : taps_) {
        float* to = sums + tap.index * kLanes;
        V sum = hn::LoadU(d, to);
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) sum = hn::MulAdd(gradient[v], hn::MaskedLoad(tap.mask(v), d, x + tap.offset + v * kLanes), sum);
        hn::StoreU(sum, d, to);
      }
    }
  }

 private:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  static constexpr int64_t kLanes = kVector<float>;
  static constexpr int kVectors = 4, kPlanes = 4;  // maximum vectors per plane; planes processed together, which share the masks

  struct Tap {
    int64_t offset, index;      // offset in the plane, index of the weight
    uint64_t inside[kVectors];  // the lanes of each vector whose source element exists
    HWY_INLINE hn::Mask<D> mask(int v) const { return hn::LoadMaskBits(D(), reinterpret_cast<const uint8_t*>(inside + v)); }
  };

  template <int planes>
  void sum_planes(const float* source, const float* weights, const float* bias, float* result) const {
    const D d;
    V sum[planes][kVectors];
    HWY_UNROLL(4)
    for (int p = 0; p < planes; ++p) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum[p][v] = hn::Set(d, bias ? bias[p] : 0.0f);
    }
    for (const Tap& tap : taps_) {
      V weight[planes];
      HWY_UNROLL(4)
      for (int p = 0; p < planes; ++p) weight[p] = hn::Set(d, weights[p * int64_t(taps_.size()) + tap.index]);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const auto inside = tap.mask(v);
        HWY_UNROLL(4)
        for (int p = 0; p < planes; ++p)
          sum[p][v] = hn::MulAdd(weight[p], hn::MaskedLoad(inside, d, source + tap.offset + p * size_ + v * kLanes), sum[p][v]);
      }
    }
    HWY_UNROLL(4)
    for (int p = 0; p < planes; ++p) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) store_first(sum[p][v], d, result + p * size_ + v * kLanes, size_ - v * kLanes);
    }
  }

  int64_t size_;  // elements per plane
  std::vector<Tap> taps_;
};

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
