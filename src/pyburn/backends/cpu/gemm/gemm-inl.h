// The size of the register tiles, for code that is compiled for each instruction set: include after foreach_target.h.
#if defined(PYBURN_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_GEMM_INL_H
#undef PYBURN_GEMM_INL_H
#else
#define PYBURN_GEMM_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators of a tile: 6 rows of 4 vectors with 32 registers, of 2 vectors with 16.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kTileVectors = 4;
#else
inline constexpr int kTileVectors = 2;
#endif
inline constexpr int kTileRows = 6;
template <class T>
inline constexpr int64_t kVector = HWY_LANES(T);
template <class T>
inline constexpr int64_t kPanel = kTileVectors* kVector<T>;  // columns of a tile

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
