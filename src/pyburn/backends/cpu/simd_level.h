// Which instruction set the kernels use.
#pragma once

namespace pyburn::cpu {

// PYBURN_SIMD=avx512|avx2|baseline (on ARM neon|baseline) limits the instruction set: for tests and comparisons. Must run
// before the first kernel is chosen. ValueError for another word.
void limit_simd_by_environment();

// Name of the best instruction set that kernels may use, such as "AVX2" or "AVX512".
const char* simd_level();

}  // namespace pyburn::cpu
