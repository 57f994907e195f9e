// In place of the backend, where the header of wgpu-native was not found when pyburn was built.
#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

void register_wgpu_backend() {
  register_backend({.name = "wgpu",
      .aliases = {"gpu"},
      .doc = "GPUs through WebGPU: Vulkan, Metal, Direct3D 12.",
      .make = [](auto, auto) { return Ref<Backend>(); },
      .unavailable =
          [] {
            return std::string("this build of pyburn has no GPU backend: the header of wgpu-native was not found when it was built");
          }});
}

bool wgpu_is_best() { return false; }
std::optional<WgpuCounters> wgpu_counters(const Device&) { return {}; }

}  // namespace pyburn
