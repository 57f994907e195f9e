// Sums of the threads of a workgroup.
#pragma once
#include "pyburn/backends/wgpu/shader.h"

namespace pyburn::wgpu {

// Declares total(lane, v): the sum of v over the lanes of a workgroup of `size` that are equal modulo `columns`. All lanes call it.
void declare_total(Shader&, int size, int columns = 1);
// largest(lane, v), and larger(a, b) of two numbers; NaN wins.
void declare_largest(Shader&, int size);
// Lanes for rows of that length.
int lanes_for(int64_t length);

}  // namespace pyburn::wgpu
