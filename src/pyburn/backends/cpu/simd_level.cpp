#include "pyburn/backends/cpu/simd_level.h"

#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>

#include "pyburn/support/error.h"

namespace pyburn::cpu {

void limit_simd_by_environment() {
  const char* text = std::getenv("PYBURN_SIMD");
  if (!text || !*text) return;
  constexpr struct {
    std::string_view name;
    int64_t target;
  } levels[] = {{"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"baseline", HWY_EMU128}};
  for (const auto& level : levels)
    if (level.name == text) return hwy::DisableTargets(level.target - 1);  // a better target has a lower bit
  fail<ValueError>("[PYBURN_SIMD] expected avx512, avx2 or baseline: got {}", text);
}

const char* simd_level() {
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  const int64_t best = supported & -supported;
  return best == HWY_AVX3 ? "AVX512" : hwy::TargetName(best);
}

}  // namespace pyburn::cpu
