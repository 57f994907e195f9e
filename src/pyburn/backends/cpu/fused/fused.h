// The `fused` operation on the CPU.
#pragma once
#include "pyburn/ops/fused.h"
#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

// For repeated runs; null if the body has no program and is replayed.
Ref<PreparedCall> prepare_fused(const Fused&, Inputs in, Outputs out);

}  // namespace pyburn::cpu
