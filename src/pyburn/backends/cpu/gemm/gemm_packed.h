// The matrix product with a right factor that was packed beforehand, in its full form.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"

namespace pyburn::cpu {

// C = start + A B, as gemm_plus(); rows of A, of the start and of C are contiguous.
void gemm_packed_plus(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Packed<float> b, Matrix<const float> start, Matrix<float> c,
    Finish finish = {});

}  // namespace pyburn::cpu
