// Batches of matrix products, and epilogues applied to their results.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/ir/operation.h"
#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

// c = op(in), where op is bmm, bmm_plus or a linear that is one product. finish(i, rows, j, columns) is called for each completed piece of
// c, as described in gemm/gemm.h; row i of the batch is row i % M of its matrix i / M.
void multiply_batches(OpRef op, Inputs in, TensorHandle& c, Finish finish = {});

}  // namespace pyburn::cpu
