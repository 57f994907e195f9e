// The GPU backend: "wgpu", alias "gpu".
#pragma once
#include <cstdint>
#include <optional>

namespace pyburn {

class Backend;
class Device;

// What a GPU was asked to do since it was opened. Tests and benchmarks count with these: a software adapter says nothing about time.
struct WgpuCounters {
  int64_t dispatches = 0, submissions = 0;
  int64_t pipelines = 0;                 // compiled
  int64_t host_calls = 0;                // operations that ran on the CPU, on copies
  int64_t uploaded = 0, downloaded = 0;  // bytes
};
// Empty if the leaf of the device is not a GPU.
std::optional<WgpuCounters> wgpu_counters(const Device&);

void register_wgpu_backend();
// Whether the GPU of this machine should be the default device: it exists, and it is not software.
bool wgpu_is_best();
bool is_wgpu(const Backend& leaf);

}  // namespace pyburn
