#include "pyburn/backends/wgpu/gpu.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/patient_lock.h"

namespace pyburn::wgpu {
namespace {

constexpr int kBatch = 256;                    // dispatches
constexpr uint64_t kParameterBytes = 1 << 18;  // of a batch
constexpr uint64_t kLargestPooled = 1 << 28;
constexpr WGPUBufferUsage kStorageUsage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;

uint64_t rounded_up(uint64_t n, uint64_t step) { return (n + step - 1) / step * step; }

// Four classes per power of two: at most a fifth is wasted.
uint64_t size_class(uint64_t bytes) {
  if (bytes <= 256) return 256;
  const uint64_t step = std::bit_floor(bytes - 1) / 4;
  return rounded_up(bytes, std::max<uint64_t>(step, 4));
}

struct Requested {
  WGPUDevice device = nullptr;
  std::string message;
  bool done = false;
};

}  // namespace

Gpu::Gpu(const Adapter& adapter, LateError& lost)
    : n_(native()), adapter_(adapter), lost_(lost), process_(getpid()), limits_(adapter.limits) {
  limits_.nextInChain = nullptr;
  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  descriptor.requiredLimits = &limits_;
  descriptor.uncapturedErrorCallbackInfo.callback = on_error;
  descriptor.uncapturedErrorCallbackInfo.userdata1 = this;
  descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
  descriptor.deviceLostCallbackInfo.callback = on_lost;
  descriptor.deviceLostCallbackInfo.userdata1 = this;
  Requested requested;
  WGPURequestDeviceCallbackInfo answer = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
  answer.mode = WGPUCallbackMode_AllowProcessEvents;
  answer.userdata1 = &requested;
  answer.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void* to, void*) {
    auto& r = *static_cast<Requested*>(to);
    r.device = status == WGPURequestDeviceStatus_Success ? device : nullptr;
    r.message = text_of(message);
    r.done = true;
  };
  n_.AdapterRequestDevice(adapter.handle, &descriptor, answer);
  for (int tries = 0; tries < 1000 && !requested.done; ++tries) n_.InstanceProcessEvents(instance());
  require<DeviceError>(requested.device, "[wgpu] the device '{}' could not be opened: {}", adapter.name, requested.message);
  device_ = requested.device;
  queue_ = n_.DeviceGetQueue(device_);
}

class Gpu::Turn {
 public:
  explicit Turn(Gpu& gpu) : lock_(gpu.mutex_) {
    require<DeviceError>(
        getpid() == gpu.process_, "[wgpu] the GPU cannot be used in a process that was forked from the one that opened it");
    if (gpu.lost_.is_set()) std::rethrow_exception(gpu.lost_.get());
  }

 private:
  PatientLock lock_;
};

void Gpu::on_error(WGPUDevice const*, WGPUErrorType type, WGPUStringView message, void* self, void*) {
  Reports& r = static_cast<Gpu*>(self)->reports_;
  std::lock_guard lock(r.mutex);
  if (type == WGPUErrorType_OutOfMemory) r.out_of_memory = true;
  if (r.error.empty()) r.error = text_of(message);
}

void Gpu::on_lost(WGPUDevice const*, WGPUDeviceLostReason, WGPUStringView message, void* self, void*) {
  Reports& r = static_cast<Gpu*>(self)->reports_;
  std::lock_guard lock(r.mutex);
  r.lost = text_of(message) + " ";
}

void Gpu::raise_errors(const char* doing) {
  std::string error;
  bool memory = false;
  {
    std::lock_guard lock(reports_.mutex);
    if (reports_.error.empty() && reports_.lost.empty()) return;
    if (!reports_.lost.empty() && !lost_.is_set())
      lost_.set(std::make_exception_ptr(
          DeviceError(format("[wgpu] {} was lost: {}", adapter_.name, reports_.lost.substr(0, reports_.lost.size() - 1)))));
    error = std::exchange(reports_.error, "");
    memory = std::exchange(reports_.out_of_memory, false);
  }
  if (lost_.is_set()) std::rethrow_exception(lost_.get());
  require<OutOfMemoryError>(!memory, "{} on {}: {}", doing, adapter_.name, error);
  fail<DeviceError>("{} failed on {}: {}", doing, adapter_.name, error);
}

// --- memory ---------------------------------------------------------------------------------------------------------------------

WGPUBuffer Gpu::create_buffer(uint64_t size, WGPUBufferUsage usage) {
  if (failing_allocation_ >= 0 && failing_allocation_-- == 0)
    fail<OutOfMemoryError>("a buffer of {} bytes could not be allocated on {}", int64_t(size), adapter_.name);
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.size = size;
  descriptor.usage = usage;
  const WGPUBuffer made = n_.DeviceCreateBuffer(device_, &descriptor);
  try {
    raise_errors("the allocation of a buffer");
  } catch (...) {
    if (made) n_.BufferRelease(made);
    throw;
  }
  require<OutOfMemoryError>(made, "a buffer of {} bytes could not be allocated on {}", int64_t(size), adapter_.name);
  return made;
}

Buffer Gpu::take(int64_t bytes) {
  const uint64_t most = std::min(limits_.maxBufferSize, limits_.maxStorageBufferBindingSize) / 16 * 16;  // whole vectors of four words
  require<OutOfMemoryError>(
      bytes >= 0 && uint64_t(bytes) <= most, "a tensor on {} can have at most {} bytes: got {}", adapter_.name, int64_t(most), bytes);
  const uint64_t size = std::min(size_class(uint64_t(bytes)), most);
  Buffer buffer{nullptr, size};
  {
    std::lock_guard lock(pool_mutex_);
    if (auto& free = pool_[size]; !free.empty()) {
      buffer = free.back();
      free.pop_back();
      buffer.suspicion = {};
    }
  }
  if (!buffer.handle) {
    buffer.handle = create_buffer(size, kStorageUsage);
    std::lock_guard lock(pool_mutex_);
    reserved_ += int64_t(size);
  }
  std::lock_guard lock(pool_mutex_);
  in_use_ += int64_t(size);
  peak_ = std::max(peak_, in_use_);
  return buffer;
}

// The queue runs in order, so a buffer may be written again while older work that reads it is pending; upload() sees to the rest.
void Gpu::give(const Buffer& buffer) noexcept {
  if (getpid() != process_) return;
  std::lock_guard lock(pool_mutex_);
  in_use_ -= int64_t(buffer.size);
  if (buffer.size > kLargestPooled || reserved_ - in_use_ > int64_t(kLargestPooled)) {
    reserved_ -= int64_t(buffer.size);
    n_.BufferRelease(buffer.handle);
  } else {
    pool_[buffer.size].push_back(buffer);
  }
}

MemoryStatistics Gpu::memory() const {
  std::lock_guard lock(pool_mutex_);
  return {.in_use = in_use_, .reserved = reserved_, .peak = peak_};
}

// --- pipelines ------------------------------------------------------------------------------------------------------------------

const Pipeline& Gpu::pipeline(const std::string& key, std::span<const Bound> bound, const std::function<std::string()>& source) {
  const Turn turn(*this);
  if (const auto it = pipelines_.find(key); it != pipelines_.end()) return it->second;
  std::string pattern;
  for (const Bound& b : bound) pattern += b.written ? 'w' : 'r';
  WGPUBindGroupLayout& layout = layouts_[pattern];
  if (!layout) {
    std::vector<WGPUBindGroupLayoutEntry> entries(bound.size() + 1, WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT);
    for (size_t i = 0; i < entries.size(); ++i) {
      entries[i].binding = uint32_t(i);
      entries[i].visibility = WGPUShaderStage_Compute;
      entries[i].buffer.type = i == 0                 ? WGPUBufferBindingType_Uniform
                               : bound[i - 1].written ? WGPUBufferBindingType_Storage
                                                      : WGPUBufferBindingType_ReadOnlyStorage;
    }
    entries[0].buffer.hasDynamicOffset = true;
    WGPUBindGroupLayoutDescriptor descriptor = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
    descriptor.entryCount = entries.size();
    descriptor.entries = entries.data();
    layout = n_.DeviceCreateBindGroupLayout(device_, &descriptor);
    raise_errors("the layout of bindings");
  }
  const std::string text = source();
  WGPUShaderSourceWGSL wgsl = WGPU_SHADER_SOURCE_WGSL_INIT;
  wgsl.code = view_of(text);
  WGPUShaderModuleDescriptor module_descriptor = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  module_descriptor.nextInChain = &wgsl.chain;
  const WGPUShaderModule module = n_.DeviceCreateShaderModule(device_, &module_descriptor);
  WGPUPipelineLayoutDescriptor layout_descriptor = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
  layout_descriptor.bindGroupLayoutCount = 1;
  layout_descriptor.bindGroupLayouts = &layout;
  const WGPUPipelineLayout pipeline_layout = n_.DeviceCreatePipelineLayout(device_, &layout_descriptor);
  WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  descriptor.layout = pipeline_layout;
  descriptor.compute.module = module;
  descriptor.compute.entryPoint = view_of("main");
  const WGPUComputePipeline handle = n_.DeviceCreateComputePipeline(device_, &descriptor);
  if (pipeline_layout) n_.PipelineLayoutRelease(pipeline_layout);
  if (module) n_.ShaderModuleRelease(module);
  try {
    raise_errors("the compilation of a shader");
  } catch (...) {
    if (std::getenv("PYBURN_WGPU_SHOW_SHADERS")) std::fprintf(stderr, "%s\n", text.c_str());
    if (handle) n_.ComputePipelineRelease(handle);
    throw;
  }
  ++counters_.pipelines;
  return pipelines_[key] = {handle, layout};
}

// --- work -----------------------------------------------------------------------------------------------------------------------

void Gpu::begin_pass() {
  if (!encoder_) encoder_ = n_.DeviceCreateCommandEncoder(device_, nullptr);
  if (!pass_) pass_ = n_.CommandEncoderBeginComputePass(encoder_, nullptr);
}

void Gpu::end_pass() {
  if (!pass_) return;
  n_.ComputePassEncoderEnd(pass_);
  n_.ComputePassEncoderRelease(std::exchange(pass_, nullptr));
}

void Gpu::dispatch(const Pipeline& pipeline, std::span<const Bound> bound, std::span<const uint32_t> parameters, uint32_t groups_x,
    uint32_t groups_y, uint64_t fault_slots) {
  if (groups_x == 0 || groups_y == 0) return;
  const Turn turn(*this);
  if (!parameter_buffer_.handle)
    parameter_buffer_ = {create_buffer(kParameterBytes, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst), kParameterBytes};
  const uint64_t block = rounded_up(std::max<uint64_t>(parameters.size_bytes(), 16), 16);
  uint64_t offset = rounded_up(parameters_.size(), limits_.minUniformBufferOffsetAlignment);
  if (batched_ >= kBatch || offset + block > kParameterBytes) submit(), offset = 0;
  parameters_.resize(offset + block);
  if (!parameters.empty()) std::memcpy(parameters_.data() + offset, parameters.data(), parameters.size_bytes());

  Suspicion all = faults_.begin(fault_slots);
  for (const Bound& b : bound) faults_.collect(b.buffer->suspicion, all);
  for (const Bound& b : bound)
    if (b.written && b.buffer != &fault_words_ && b.buffer != &reads_) faults_.pass_on(all, b.buffer->suspicion);

  SmallVector<WGPUBindGroupEntry, 8> entries;
  WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
  entry.buffer = parameter_buffer_.handle;
  entry.size = block;
  entries.push_back(entry);
  for (size_t i = 0; i < bound.size(); ++i) {
    entry.binding = uint32_t(i + 1);
    entry.buffer = bound[i].buffer->handle;
    entry.size = bound[i].buffer->size;
    entries.push_back(entry);
    bound[i].buffer->batch = batch_;
  }
  WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  descriptor.layout = pipeline.layout;
  descriptor.entryCount = size_t(entries.size());
  descriptor.entries = entries.data();
  const WGPUBindGroup group = n_.DeviceCreateBindGroup(device_, &descriptor);
  raise_errors("the binding of buffers");
  begin_pass();
  n_.ComputePassEncoderSetPipeline(pass_, pipeline.handle);
  const uint32_t dynamic = uint32_t(offset);
  n_.ComputePassEncoderSetBindGroup(pass_, 0, group, 1, &dynamic);
  n_.ComputePassEncoderDispatchWorkgroups(pass_, groups_x, groups_y, 1);
  n_.BindGroupRelease(group);
  ++batched_;
  ++counters_.dispatches;
}

void Gpu::submit() {
  end_pass();
  if (!encoder_) return;
  const WGPUCommandBuffer commands = n_.CommandEncoderFinish(std::exchange(encoder_, nullptr), nullptr);
  if (!parameters_.empty()) n_.QueueWriteBuffer(queue_, parameter_buffer_.handle, 0, parameters_.data(), parameters_.size());
  parameters_.clear();
  batched_ = 0;
  ++batch_;
  raise_errors("the recording of work");
  n_.QueueSubmit(queue_, 1, &commands);
  n_.CommandBufferRelease(commands);
  ++counters_.submissions;
  raise_errors("the submission of work");
}

void Gpu::upload(Buffer& to, const void* data, int64_t bytes) {
  if (bytes == 0) return;
  const Turn turn(*this);
  to.suspicion = {};
  if (to.batch == batch_) submit();  // a write of the queue comes before the batch, which still needs the old contents
  const int64_t whole = bytes / 4 * 4;
  if (whole) n_.QueueWriteBuffer(queue_, to.handle, 0, data, size_t(whole));
  if (bytes > whole) {
    uint32_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(data) + whole, size_t(bytes - whole));
    n_.QueueWriteBuffer(queue_, to.handle, uint64_t(whole), &word, 4);
  }
  counters_.uploaded += bytes;
  raise_errors("an upload");
}

uint32_t Gpu::fault_slot(const std::string& message, bool of_value) {
  const Turn turn(*this);
  if (!fault_words_.handle) fault_words_ = {create_buffer(Faults::kSlots * 8, kStorageUsage), Faults::kSlots * 8};
  return faults_.add(message, of_value);
}
void Gpu::overwritten(Buffer& buffer) {
  PatientLock lock(mutex_);
  buffer.suspicion = {};
}

void Gpu::download(Buffer& from, uint64_t offset, void* data, int64_t bytes) {
  if (bytes == 0) return;
  const Turn turn(*this);
  const uint64_t first = offset / 4 * 4, wanted = rounded_up(offset + uint64_t(bytes) - first, 4);
  const uint64_t fault_bytes = faults_.used() * 8, size = wanted + fault_bytes;
  if (staging_.size < size) {
    if (staging_.handle) n_.BufferRelease(std::exchange(staging_.handle, nullptr));
    staging_.size = 0;
    staging_.handle = create_buffer(size_class(size), WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst);
    staging_.size = size_class(size);
  }
  end_pass();
  if (!encoder_) encoder_ = n_.DeviceCreateCommandEncoder(device_, nullptr);
  n_.CommandEncoderCopyBufferToBuffer(encoder_, from.handle, first, staging_.handle, 0, wanted);
  if (fault_bytes) n_.CommandEncoderCopyBufferToBuffer(encoder_, fault_words_.handle, 0, staging_.handle, wanted, fault_bytes);
  submit();
  struct Mapped {
    bool done = false, ok = false;
    std::string message;
  } mapped;
  WGPUBufferMapCallbackInfo answer = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
  answer.mode = WGPUCallbackMode_AllowProcessEvents;
  answer.userdata1 = &mapped;
  answer.callback = [](WGPUMapAsyncStatus status, WGPUStringView message, void* to, void*) {
    auto& m = *static_cast<Mapped*>(to);
    m.done = true, m.ok = status == WGPUMapAsyncStatus_Success, m.message = text_of(message);
  };
  n_.BufferMapAsync(staging_.handle, WGPUMapMode_Read, 0, size, answer);
  while (!mapped.done) poll();
  if (!mapped.ok) {
    raise_errors("a download");
    fail<DeviceError>("a download failed on {}: {}", adapter_.name, mapped.message);
  }
  const void* p = n_.BufferGetConstMappedRange(staging_.handle, 0, size);
  std::vector<uint32_t> faults(fault_bytes / 4);
  if (p) {
    std::memcpy(data, static_cast<const std::byte*>(p) + (offset - first), size_t(bytes));
    if (fault_bytes) std::memcpy(faults.data(), static_cast<const std::byte*>(p) + wanted, fault_bytes);
  }
  n_.BufferUnmap(staging_.handle);
  require<DeviceError>(p, "a download failed on {}", adapter_.name);
  counters_.downloaded += bytes;
  if (fault_bytes && faults_.report(faults.data())) {
    const std::vector<uint32_t> clear(Faults::kSlots * 2, 0);
    n_.QueueWriteBuffer(queue_, fault_words_.handle, 0, clear.data(), clear.size() * 4);
  }
  faults_.raise_if_spoiled(from.suspicion);
}

void Gpu::poll() {
  // Other threads of Python may run meanwhile.
  while_waiting([](void* self) { static_cast<Gpu*>(self)->n_.DevicePoll(static_cast<Gpu*>(self)->device_, true, nullptr); }, this);
  bool lost = false;
  {
    std::lock_guard lock(reports_.mutex);
    lost = !reports_.lost.empty();
  }
  if (lost) raise_errors("the work");
}

void Gpu::lose() {
  {
    const Turn turn(*this);
    n_.DeviceDestroy(device_);
    n_.DevicePoll(device_, true, nullptr);
    std::lock_guard lock(reports_.mutex);
    if (reports_.lost.empty()) reports_.lost = "it was destroyed ";
  }
}

void Gpu::synchronize() {
  const Turn turn(*this);
  submit();
  poll();
  raise_errors("the work");
}

Buffer* Gpu::read_counter() {
  static const bool wanted = std::getenv("PYBURN_WGPU_COUNT_READS") != nullptr;
  if (!wanted) return nullptr;
  const Turn turn(*this);
  if (!reads_.handle) reads_ = {create_buffer(256, kStorageUsage), 256};
  return &reads_;
}

WgpuCounters Gpu::counters() {
  uint32_t reads = 0;
  if (Buffer* counter = read_counter()) download(*counter, 0, &reads, 4);
  PatientLock lock(mutex_);
  counters_.reads += uint32_t(reads - uint32_t(counters_.reads));  // the word wraps around
  return counters_;
}
void Gpu::count_host_call() {
  PatientLock lock(mutex_);
  ++counters_.host_calls;
}

}  // namespace pyburn::wgpu
