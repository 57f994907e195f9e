#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/half_convert.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "pyburn/backends/cpu/half_convert.h"

// The conversions of half.h have no branches: these loops become vectors.
HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

void half_to_float(const Half* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = float(from[i]);
}
void bfloat16_to_float(const BFloat16* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = float(from[i]);
}
void float_to_half(const float* HWY_RESTRICT from, Half* HWY_RESTRICT to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = Half(from[i]);
}
void float_to_bfloat16(const float* HWY_RESTRICT from, BFloat16* HWY_RESTRICT to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16(from[i]);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(half_to_float);
HWY_EXPORT(bfloat16_to_float);
HWY_EXPORT(float_to_half);
HWY_EXPORT(float_to_bfloat16);

void convert_many(const Half* from, float* to, int64_t n) { HWY_DYNAMIC_DISPATCH(half_to_float)(from, to, n); }
void convert_many(const BFloat16* from, float* to, int64_t n) { HWY_DYNAMIC_DISPATCH(bfloat16_to_float)(from, to, n); }
void convert_many(const float* from, Half* to, int64_t n) { HWY_DYNAMIC_DISPATCH(float_to_half)(from, to, n); }
void convert_many(const float* from, BFloat16* to, int64_t n) { HWY_DYNAMIC_DISPATCH(float_to_bfloat16)(from, to, n); }

}  // namespace pyburn::cpu
#endif
