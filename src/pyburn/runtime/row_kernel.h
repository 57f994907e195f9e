// Kernels that belong to a row, for backends that have none. They are functions of tensors, in any language.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

// Can the kernel of this row run on this leaf, on its tensors or, as a last resort, on copies in host memory?
bool row_kernel_runs_on(const Backend& leaf, const OpInfo& row);

// The row has such a kernel. ValueError if its results differ from the inferred ones.
void run_row_kernel(Backend& leaf, OpRef op, Inputs in, Outputs out);

}  // namespace pyburn
