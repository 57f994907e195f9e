// Batches of products, and what is done to their results on the way.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/ir/operation.h"
#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

// c = what `op`, which is bmm, bmm_plus or a linear that is one product, makes of `in`. Where each piece of c is complete, finish(i, rows,
// j, columns) is called for it, as gemm/gemm.h says; row i of the batch is row i % M of its matrix i / M.
void multiply_batches(OpRef op, Inputs in, TensorHandle& c, Finish finish = {});

}  // namespace pyburn::cpu
