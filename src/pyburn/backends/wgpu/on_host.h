// Operations that have no kernel on the GPU and no decomposition: they run on the CPU, on copies.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn::wgpu {

bool runs_on_host(const OpInfo&);
void run_on_host(Backend& gpu, OpRef op, Inputs in, Outputs out);

}  // namespace pyburn::wgpu
