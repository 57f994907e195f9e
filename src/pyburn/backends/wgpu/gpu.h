// Gpu: a device of WebGPU with its queue. Work is collected in a batch, which is submitted when it is large or when a value is read.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pyburn/backends/wgpu/adapters.h"
#include "pyburn/backends/wgpu/faults.h"
#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::wgpu {

struct Buffer {
  WGPUBuffer handle = nullptr;
  uint64_t size = 0;
  uint64_t batch = 0;  // the last one that uses it
  Suspicion suspicion;
};

// One buffer as a dispatch sees it.
struct Bound {
  Buffer* buffer;
  bool written;
  bool operator==(const Bound&) const = default;
};

// A compiled shader with the layout of its bindings.
struct Pipeline {
  WGPUComputePipeline handle = nullptr;
  WGPUBindGroupLayout layout = nullptr;
};

class Gpu {
 public:
  Gpu(const Adapter&, LateError& lost);  // DeviceError. `lost` is set when the device is lost
  Gpu(const Gpu&) = delete;

  const WGPULimits& limits() const { return limits_; }
  const Adapter& adapter() const { return adapter_; }

  // Memory is recycled in classes of sizes. OutOfMemoryError.
  Buffer take(int64_t bytes);
  void give(const Buffer&) noexcept;
  MemoryStatistics memory() const;

  // The pipeline of a source; `key` stands for the source, which is written only when it is new. Binding 0 is the uniform block.
  const Pipeline& pipeline(const std::string& key, std::span<const Bound> bound, const std::function<std::string()>& source);
  // `parameters` fill the uniform block. `groups` are workgroups in each of the two dimensions.
  // `fault_slots` are those of the dispatch, a bit each.
  void dispatch(const Pipeline&, std::span<const Bound> bound, std::span<const uint32_t> parameters, uint32_t groups_x, uint32_t groups_y,
      uint64_t fault_slots = 0);

  void upload(Buffer& to, const void* data, int64_t bytes);                 // bytes is rounded up to whole words
  void download(Buffer& from, uint64_t offset, void* data, int64_t bytes);  // waits
  void synchronize();

  // Errors that a kernel finds in values: see faults.h.
  uint32_t fault_slot(const std::string& message, bool of_value);
  Buffer& fault_buffer() { return fault_words_; }
  void overwritten(Buffer&);  // all of it: earlier errors do not matter
  // Where kernels count the elements that they read; null unless PYBURN_WGPU_COUNT_READS is set.
  Buffer* read_counter();
  WgpuCounters counters();
  void count_host_call();

  // For tests: the device is lost now; or the allocation after that many others fails.
  void lose();
  void fail_allocation_after(int others) { failing_allocation_ = others; }

 private:
  // Guards the queue. DeviceError in a process that was forked from the one that opened the device, or if the device is lost.
  class Turn;
  void begin_pass();
  void end_pass();
  void submit();
  void raise_errors(const char* doing);
  void poll();
  WGPUBuffer create_buffer(uint64_t size, WGPUBufferUsage usage);

  const Native& n_;
  const Adapter& adapter_;
  LateError& lost_;
  const int process_;
  WGPULimits limits_;
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;

  ForkSafeMutex mutex_;  // guards what follows, up to the pool
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
  uint64_t batch_ = 1;
  int batched_ = 0;  // dispatches in this batch
  std::vector<std::byte> parameters_;
  Buffer parameter_buffer_;
  Buffer staging_;
  std::unordered_map<std::string, Pipeline> pipelines_;
  std::unordered_map<std::string, WGPUBindGroupLayout> layouts_;
  WgpuCounters counters_;
  Faults faults_;
  Buffer fault_words_;  // two words per slot: reported or not, the number
  Buffer reads_;        // a word

  // Reported by callbacks, raised by the next call.
  struct Reports {
    ForkSafeMutex mutex;
    std::string error, lost;
    bool out_of_memory = false;
  } reports_;
  static void on_error(WGPUDevice const*, WGPUErrorType, WGPUStringView, void*, void*);
  static void on_lost(WGPUDevice const*, WGPUDeviceLostReason, WGPUStringView, void*, void*);

  std::atomic<int> failing_allocation_{-1};

  mutable ForkSafeMutex pool_mutex_;
  std::unordered_map<uint64_t, std::vector<Buffer>> pool_;  // by size
  int64_t in_use_ = 0, reserved_ = 0, peak_ = 0;
};

}  // namespace pyburn::wgpu
