// A body that begins with a product or a convolution: the remaining operations run on each piece of the result as soon as it is complete.
#pragma once
#include "pyburn/ops/fused.h"
#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

bool begins_with_product(const Graph& body);

// Returns false if the body does not have this form; then nothing was computed.
bool run_product(const Fused&, Inputs in, Outputs out);
// As above for repeated runs; null if run_product() would return false.
Ref<PreparedCall> prepare_product(const Fused&, Inputs in, Outputs out);

// Of a product or a convolution that is prepared: where in[1] is a constant, what is computed from it is made now.
void pack_constant_weight(OpRef op, Inputs in, const TensorHandle& y);

}  // namespace pyburn::cpu
