// In place of the backend, where the header of wgpu-native was not found when pyburn was built.
#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/backends/wgpu/wgsl_kernel.h"
#include "pyburn/support/error.h"

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

std::vector<WgpuAdapter> wgpu_adapters() { fail<DeviceError>("[wgpu] this build of pyburn has no GPU backend"); }
std::optional<WgpuCounters> wgpu_counters(const Device&) { return {}; }
void set_wgpu_library_finder(std::string (*)()) {}
void injure_wgpu(const Device&, int) {}
bool wgpu_is_best() { return false; }
bool is_wgpu(const Backend&) { return false; }
bool runs_wgsl(const OpInfo&, const Backend&) { return false; }
Tensors run_wgsl(const WgslKernel& k, Inputs, Metas, const WgslNumbers&, int64_t) {
  fail<DeviceError>("[{}] this build of pyburn has no GPU backend", k.name);
}

}  // namespace pyburn
