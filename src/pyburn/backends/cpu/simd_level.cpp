#include "pyburn/backends/cpu/simd_level.h"

#include <hwy/targets.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "pyburn/support/error.h"

namespace pyburn::cpu {

void limit_simd_by_environment() {
  const char* text = std::getenv("PYBURN_SIMD");
  if (!text || !*text) return;
  constexpr struct {
    std::string_view name;
    int64_t target;
  } levels[] = {
#if HWY_ARCH_ARM  // every 64-bit ARM processor has NEON: there is nothing below
      {"neon", HWY_NEON},
#else
      {"avx512", HWY_AVX3},
      {"avx2", HWY_AVX2},
#endif
      {"baseline", HWY_EMU128}};
  std::string known;
  for (const auto& level : levels) {
    if (level.name == text) return hwy::DisableTargets(level.target - 1);  // a better target has a lower bit
    known += (known.empty() ? "" : ", ") + std::string(level.name);
  }
  fail<ValueError>("[PYBURN_SIMD] expected one of {}: got {}", known, text);
}

const char* simd_level() {
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  const int64_t best = supported & -supported;
  return best == HWY_AVX3 ? "AVX512" : hwy::TargetName(best);
}

}  // namespace pyburn::cpu
