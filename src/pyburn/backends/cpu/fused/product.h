// A body that begins with a product or a convolution: the rest of it runs on each piece of the result as soon as the piece is there.
#pragma once
#include "pyburn/ops/fused.h"
#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

bool begins_with_product(const Graph& body);

// False: the body is another one than it seemed, and nothing was done.
bool run_product(const Fused&, Inputs in, Outputs out);
// The same for many runs; null where run_product() would do nothing.
Ref<PreparedCall> prepare_product(const Fused&, Inputs in, Outputs out);

// Of a product or a convolution that is prepared: where in[1] is a constant, what is computed from it is made now.
void pack_constant_weight(OpRef op, Inputs in, const TensorHandle& y);

}  // namespace pyburn::cpu
