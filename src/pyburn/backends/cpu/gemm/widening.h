// Products of few rows with float16 or bfloat16 matrices, which are converted to float in registers.
#pragma once
#include <cstdint>

#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/tensor/dtype.h"

namespace pyburn::cpu {

inline constexpr int64_t kMostWideningRows = 4;

// C (m x n) = A (m x k) B (k x n), for m up to kMostWideningRows. B has dtype `dtype` and unit stride in one direction. Rows of A and C are
// contiguous.
void widening_product(int64_t m, int64_t n, int64_t k, Matrix<const float> a, DType dtype, Matrix<const void> b, Matrix<float> c);

}  // namespace pyburn::cpu
