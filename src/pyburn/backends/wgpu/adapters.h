// The adapters of this machine: GPUs, and software that stands in for one.
#pragma once
#include <vector>

#include "pyburn/backends/wgpu/native.h"

namespace pyburn::wgpu {

struct Adapter {
  WGPUAdapter handle = nullptr;
  WGPULimits limits = WGPU_LIMITS_INIT;
  std::string name, driver;
  const char* kind = "";  // "discrete GPU", "integrated GPU", "software", "unknown"
  const char* api = "";   // "Vulkan", "Metal", "D3D12"
  WGPUAdapterType type = WGPUAdapterType_Unknown;
};

WGPUInstance instance();
// Fastest kind first; the order is that of wgpu:0, wgpu:1, ... Enumerated once.
const std::vector<Adapter>& adapters();
// By the options of a device name: "" (the first), an index, "low-power", or a part of the name in any case. DeviceError lists the
// adapters.
const Adapter& find_adapter(std::string_view options);
// Whether this machine has a GPU. Where the system can say that there is none, no driver is loaded.
bool has_hardware_adapter();

}  // namespace pyburn::wgpu
