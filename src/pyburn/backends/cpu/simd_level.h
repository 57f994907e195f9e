// The instruction set that the kernels use.
#pragma once

namespace pyburn::cpu {

// PYBURN_SIMD=avx512|avx2|baseline (ARM: neon|baseline) limits the instruction set, for tests and comparisons. Must be called before the
// first kernel is selected. ValueError for other values.
void limit_simd_by_environment();

// Name of the best instruction set that kernels may use, such as "AVX2" or "AVX512".
const char* simd_level();

}  // namespace pyburn::cpu
