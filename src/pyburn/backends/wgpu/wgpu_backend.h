// The GPU backend: "wgpu", alias "gpu".
#pragma once

namespace pyburn {

void register_wgpu_backend();
// Whether the GPU of this machine should be the default device: it exists, and it is not software.
bool wgpu_is_best();

}  // namespace pyburn
