// Kernels that a row brings itself, for backends that have none. They are functions of tensors, written in any language.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

// Does the kernel of this row run on this leaf, on its own tensors or, where nothing else is left, on copies in host memory?
bool row_kernel_runs_on(const Backend& leaf, const OpInfo& row);

// The row has such a kernel. ValueError unless its results are those that inference has promised.
void run_row_kernel(Backend& leaf, OpRef op, Inputs in, Outputs out);

}  // namespace pyburn
