#include "pyburn/backends/cpu/simd_level.h"

#include <hwy/targets.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "pyburn/support/error.h"

namespace pyburn::cpu {
namespace {

struct Level {
  std::string_view name;
  int64_t target;
};
#if HWY_ARCH_ARM  // every 64-bit processor has NEON: there is nothing below
constexpr Level kLevels[] = {{"neon", HWY_NEON}, {"baseline", HWY_NEON}};
#else
constexpr Level kLevels[] = {{"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"baseline", HWY_EMU128}};
#endif

void limit_once() {
  const char* text = std::getenv("PYBURN_SIMD");
  if (!text || !*text) return;
  std::string known;
  for (const Level& level : kLevels) {
    if (level.name == text) return hwy::DisableTargets(level.target - 1);  // a better target has a lower bit
    known += (known.empty() ? "" : ", ") + std::string(level.name);
  }
  fail<ValueError>("[PYBURN_SIMD] expected one of {}: got {}", known, text);
}

}  // namespace

void limit_simd_by_environment() {
  // Not again when the variable is changed for a child: packed weights and the kernels that read them are of one level.
  static const bool limited = (limit_once(), true);
  (void)limited;
}

const char* simd_level() {
  limit_simd_by_environment();  // may be asked before the first kernel is
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  const int64_t best = supported & -supported;
  return best == HWY_AVX3 ? "AVX512" : hwy::TargetName(best);
}

}  // namespace pyburn::cpu
