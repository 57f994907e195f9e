// Batches of matrix products, and epilogues applied to their results.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/ir/operation.h"
#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

// c = op(in), where op is bmm, bmm_plus or a linear that is one product. finish(i, rows, j, columns) is called for each completed piece of
// c, as described in gemm/gemm.h; row i of the batch is row i % M of its matrix i / M.
void multiply_batches(OpRef op, Inputs in, TensorHandle& c, Finish finish = {});

// Packs the weight of a linear once for all that follow, until it is written. The products of a packed weight need no other form of it.
void pack_linear_weight(const TensorHandle& weight);

}  // namespace pyburn::cpu
