// 3x3 depthwise kernels over planes whose rows of results fill less than half a vector: two planes share each vector. For each instruction
// set: include after foreach_target.h.
#if defined(PYBURN_DEPTHWISE_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_DEPTHWISE_PAIRS_INL_H
#undef PYBURN_DEPTHWISE_PAIRS_INL_H
#else
#define PYBURN_DEPTHWISE_PAIRS_INL_H
#endif

#include <array>
#include <utility>
#include <vector>

#include "pyburn/backends/cpu/conv/depthwise_rows-inl.h"
#include "pyburn/backends/cpu/conv/plan.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
template <int stride>
class PairedPlanes {
 public:
  static bool suit(const ConvPlan& p) {
    return p.y.kernel == 3 && p.x.kernel == 3 && p.y.stride == stride && p.x.stride == stride && p.y.dilation == 1 && p.x.dilation == 1 &&
           (stride == 1 || !p.x.transposed) && p.x.result < kHalf && p.y.result <= kRows;
  }
  explicit PairedPlanes(const ConvPlan& p) : y_(p.y), x_(p.x), turned_(p.phases[0].front().index != 0) {
    const ConvPlan::Tap& first = p.phases[0].front();  // in source order
    top_ = y_.base(0) + first.y, left_ = x_.base(0) + first.x;
    for (int64_t i = 0; i < kVector<float>; ++i) inside_ |= __mmask16((left_ + i >= 0 && left_ + i < x_.source) << i);
    results_ = __mmask8((1 << x_.result) - 1);
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < kHalf; ++i) {
        const int from = std::min<int>(i * stride + j, kVector<float> - 1);
        beside_[j][i] = from, beside_[j][kHalf + i] = kVector<float> + from;
      }
  }

  // Consecutive planes, each with its own weights.
  void sum(const float* source, const float* weights, const float* bias, int64_t count, float* result) const {
    static constexpr auto table = []<int... r>(std::integer_sequence<int, r...>) { return std::array{sum_planes<r + 1>...}; }
    (std::make_integer_sequence<int, kRows>());
    table[size_t(y_.result - 1)](*this, source, weights, bias, count, result);
  }

  // sums[tap][lane] += x * dy for `count` planes of x and dy, which are `x_step` and `dy_step` apart.
  void add_weight(const float* x, int64_t x_step, const float* dy, int64_t dy_step, int64_t count, float* sums) const {
    const D d;
    const V beside[3] = {indices(0), indices(1), indices(2)};
    V sum[9];
    HWY_UNROLL(9)
    for (int t = 0; t < 9; ++t) sum[t] = hn::LoadU(d, sums + t * kVector<float>);
    for (int64_t i = 0; i < count; i += 2) {
      const bool alone = i + 1 == count;
      const float *plane = x + i * x_step, *gradients = dy + i * dy_step;
      const int64_t other = alone ? 0 : x_step, other_gradients = alone ? 0 : dy_step;
      roll_weight_rows<stride>(
          y_.result, [&](int64_t k, V* to) HWY_ATTR { load(plane, other, k, beside, alone ? results_ : both(), to); },
          [&](int64_t row) HWY_ATTR {
            const float* at = gradients + row * x_.result;
            const __m256 low = _mm256_maskz_loadu_ps(results_, at);
            return V{_mm512_insertf32x8(
                _mm512_castps256_ps512(low), _mm256_maskz_loadu_ps(alone ? __mmask8(0) : results_, at + other_gradients), 1)};
          },
          sum);
    }
    HWY_UNROLL(9)
    for (int t = 0; t < 9; ++t) hn::StoreU(sum[t], d, sums + t * kVector<float>);
  }

 private:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  static constexpr int kHalf = kVector<float> / 2, kRows = 7;  // lanes per plane; results one row below the other

  V indices(int column) const { return V{_mm512_castsi512_ps(_mm512_load_si512(beside_[column]))}; }
  __mmask16 both() const { return __mmask16(results_ | results_ << kHalf); }
  static HWY_INLINE V halves(const float* low, const float* high) {
    return V{_mm512_mask_broadcastss_ps(_mm512_set1_ps(*low), 0xff00, _mm_load_ss(high))};
  }

  // The source values of row k that the results of both planes (`other` apart) use per kernel column; other lanes are zero.
  HWY_INLINE void load(const float* plane, int64_t other, int64_t k, const V* beside, __mmask16 results, V* x) const {
    const int64_t line = top_ + k;
    const __mmask16 inside = line >= 0 && line < y_.source ? inside_ : __mmask16(0);
    const float* from = plane + line * x_.source + left_;
    const __m512 a = _mm512_maskz_loadu_ps(inside, from), b = _mm512_maskz_loadu_ps(inside, from + other);
    HWY_UNROLL(3)
    for (int j = 0; j < 3; ++j) x[j] = V{_mm512_maskz_permutex2var_ps(results, a, _mm512_castps_si512(beside[j].raw), b)};
  }

  template <int rows>
  static void sum_planes(
      const PairedPlanes& p, const float* source, const float* weights, const float* bias, int64_t count, float* result) {
    const D d;
    const V beside[3] = {p.indices(0), p.indices(1), p.indices(2)};
    const __mmask8 results = p.results_;
    const int64_t from = p.y_.source * p.x_.source, to = rows * p.x_.result, width = p.x_.result;
    const int64_t first_weight = p.turned_ ? 8 : 0, step = p.turned_ ? -1 : 1;
    for (int64_t i = 0; i < count; i += 2) {
      const int64_t other = i + 1 < count;  // an odd last plane is paired with itself
      const float* w = weights + 9 * i + first_weight;
      V weight[9], sum[rows];
      HWY_UNROLL(9)
      for (int t = 0; t < 9; ++t) weight[t] = halves(w + t * step, w + t * step + 9 * other);
      const V start = bias ? halves(bias + i, bias + i + other) : hn::Zero(d);
      HWY_UNROLL(8)
      for (int r = 0; r < rows; ++r) sum[r] = start;
      HWY_UNROLL(16)
      for (int k = 0; k < (rows - 1) * stride + 3; ++k) {
        V x[3];
        p.load(source + i * from, from * other, k, beside, p.both(), x);
        HWY_UNROLL(3)
        for (int j = 0; j < 3; ++j) {
          HWY_UNROLL(3)
          for (int t = 0; t < 3; ++t)
            if (k >= t && (k - t) % stride == 0 && (k - t) / stride < rows)
              sum[(k - t) / stride] = hn::MulAdd(weight[3 * t + j], x[j], sum[(k - t) / stride]);
        }
      }
      float* at = result + i * to;
      HWY_UNROLL(8)
      for (int r = 0; r < rows; ++r, at += width) {
        _mm256_mask_storeu_ps(at + to * other, results, _mm512_extractf32x8_ps(sum[r].raw, 1));
        _mm256_mask_storeu_ps(at, results, _mm512_castps512_ps256(sum[r].raw));
      }
    }
  }

  PlanAxis y_, x_;
  bool turned_;                                    // weights in reverse order?
  int64_t top_, left_;                             // source position of the first result and first tap
  __mmask16 inside_ = 0;                           // lanes of a row, starting at `left_`, that are inside the image
  __mmask8 results_;                               // lanes of a plane that hold results
  alignas(64) int32_t beside_[3][kVector<float>];  // per kernel column: the lanes inside the image, for both planes
};
#else
template <int stride>
class PairedPlanes {  // the vectors are too short
 public:
  static bool suit(const ConvPlan&) { return false; }
  explicit PairedPlanes(const ConvPlan&) {}
  void sum(const float*, const float*, const float*, int64_t, float*) const {}
  void add_weight(const float*, int64_t, const float*, int64_t, int64_t, float*) const {}
};
#endif

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
