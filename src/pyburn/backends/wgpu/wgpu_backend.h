// The GPU backend: "wgpu", alias "gpu".
#pragma once
#include <optional>
#include <vector>

#include "pyburn/runtime/device.h"

namespace pyburn {

void register_wgpu_backend();
// Called once if the library is neither named by PYBURN_WGPU_LIBRARY nor beside pyburn: gives its path, or nothing. Set by the bindings.
void set_wgpu_library_finder(std::string (*find)());
// Whether the GPU of this machine should be the default device: it exists, and it is not software.
bool wgpu_is_best();
bool is_wgpu(const Backend& leaf);

struct WgpuAdapter {
  std::string name, driver, kind, api;  // "discrete GPU", "integrated GPU", "software" or "unknown"; "Vulkan", "Metal", "D3D12"
  int64_t largest_tensor = 0;           // bytes
};
std::vector<WgpuAdapter> wgpu_adapters();  // in the order of wgpu:0, wgpu:1, ...; DeviceError without the library

// What a device has done since it was opened.
struct WgpuCounters {
  int64_t dispatches = 0, submissions = 0, pipelines = 0;  // pipelines: shaders that were compiled
  int64_t host_calls = 0;                                  // operations that ran on the CPU, on copies
  int64_t uploaded = 0, downloaded = 0;                    // bytes
  int64_t reads = 0;                                       // elements that kernels read; counted with PYBURN_WGPU_COUNT_READS
};
std::optional<WgpuCounters> wgpu_counters(const Device&);  // none if its leaf is another backend

// For tests of what follows: the allocation after that many others fails, or, if negative, the device is lost.
void injure_wgpu(const Device&, int failing_allocation);

}  // namespace pyburn
