#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conversion.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <type_traits>

#include "pyburn/backends/cpu/conversion.h"
#include "pyburn/tensor/half.h"

// These loops have no branches and become vectors.
HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class From, class To>
HWY_INLINE bool fit(const From* x, int64_t n) {
  constexpr From high = sizeof(To) == 8 ? From(9.2e18) : sizeof(To) == 4 ? From(2.1e9) : From(255), low = sizeof(To) > 1 ? -high : From(0);
  int32_t all = 1;
  for (int64_t i = 0; i < n; ++i) all &= (x[i] >= low) & (x[i] <= high);
  return all;
}

template <class From, class To>
bool convert(const void* from, void* to, int64_t n) {
  constexpr int64_t kBlock = 1024;
  const From* HWY_RESTRICT x = static_cast<const From*>(from);
  To* HWY_RESTRICT y = static_cast<To*>(to);
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    for (; i < n; i += kBlock) {
      const int64_t m = n - i < kBlock ? n - i : kBlock;
      if (!fit<From, To>(x + i, m)) return false;
      for (int64_t k = i; k < i + m; ++k) y[k] = To(x[k]);
    }
    return true;
  }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>)
    for (; i + 16 <= n; i += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>)
    for (; i + 8 <= n; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) y[i] = To(x[i]);
  return true;
}

template <class From, class To>
Conversion either_way(bool back) {
  return back ? convert<To, From> : convert<From, To>;
}
Conversion find(DType from, DType to) {
  const bool back = from != DType::float32;
  if (back && to != DType::float32) return nullptr;
  switch (back ? from : to) {
    case DType::float64:
      return either_way<float, double>(back);
    case DType::float16:
      return either_way<float, Half>(back);
    case DType::bfloat16:
      return either_way<float, BFloat16>(back);
    case DType::int32:
      return either_way<float, int32_t>(back);
    case DType::int64:
      return either_way<float, int64_t>(back);
    case DType::uint8:
      return either_way<float, uint8_t>(back);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(find);
Conversion find_conversion(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find)(from, to); }

}  // namespace pyburn::cpu
#endif
