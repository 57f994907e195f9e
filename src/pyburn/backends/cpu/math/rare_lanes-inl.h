// A function that is expensive for few arguments: these are collected and computed together, in whole vectors. Compiled for each
// instruction set: include after foreach_target.h.
#if defined(PYBURN_RARE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_RARE_LANES_INL_H
#undef PYBURN_RARE_LANES_INL_H
#else
#define PYBURN_RARE_LANES_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "pyburn/backends/cpu/math/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {

// y[i] = usual(x[i], more[i]...) if is_usual(x[i]), simple(x[i], more[i]...) if is_simple(x[i]), else rare(x[i], more[i]...). y may alias
// an input.
template <class Usual, class IsUsual, class Simple, class IsSimple, class Rare, class... More>
HWY_INLINE void map_vectors_with_rare(
    Usual usual, IsUsual is_usual, Simple simple, IsSimple is_simple, Rare rare, float* y, int64_t n, const float* x, const More*... more) {
  const FloatTag d;
  constexpr int64_t lanes = HWY_LANES(float), arguments = 1 + sizeof...(More), room = 8 * lanes;
  HWY_ALIGN float held[arguments][room + lanes];
  int64_t place[room + lanes], count = 0;
  auto compute_held = [&]() HWY_ATTR {
    for (int64_t i = 0; i < count; i += lanes) {
      HWY_ALIGN float made[lanes];
      if constexpr (arguments == 1) hn::Store(rare(hn::Load(d, held[0] + i)), d, made);
      else hn::Store(rare(hn::Load(d, held[0] + i), hn::Load(d, held[1] + i)), d, made);
      for (int64_t k = 0; k < std::min(lanes, count - i); ++k) y[place[i + k]] = made[k];
    }
    count = 0;
  };
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t rest = std::min(lanes, n - i);
    auto load = [&](const float* p) HWY_ATTR {
      if (HWY_LIKELY(rest == lanes)) return hn::LoadU(d, p + i);
      HWY_ALIGN float last[lanes] = {};
      std::copy_n(p + i, rest, last);
      return hn::Load(d, last);
    };
    const auto v = load(x);
    auto result = usual(v, load(more)...);
    const auto common = is_usual(v);
    if (HWY_UNLIKELY(!hn::AllTrue(d, common))) {
      result = hn::IfThenElse(common, result, simple(v, load(more)...));
      const auto held_back = hn::Not(hn::Or(common, is_simple(v)));
      if (!hn::AllFalse(d, held_back)) {
        HWY_ALIGN float given[arguments][lanes];
        uint8_t bits[8] = {};  // of the mask
        hn::Store(v, d, given[0]);
        int64_t k = 1;
        (hn::Store(load(more), d, given[k++]), ...);
        hn::StoreMaskBits(d, held_back, bits);
        for (uint32_t left = bits[0] | uint32_t(bits[1]) << 8; left; left &= left - 1, ++count) {
          const int lane = std::countr_zero(left);
          place[count] = i + lane;
          for (int64_t a = 0; a < arguments; ++a) held[a][count] = given[a][lane];
        }
      }
    }
    if (HWY_LIKELY(rest == lanes)) {
      hn::StoreU(result, d, y + i);
    } else {
      HWY_ALIGN float last[lanes];
      hn::Store(result, d, last);
      std::copy_n(last, rest, y + i);
    }
    if (count > room) compute_held();
  }
  compute_held();
}

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
