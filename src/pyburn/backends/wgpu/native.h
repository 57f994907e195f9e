// wgpu-native: a shared library that is found and opened at run time. Programs that never ask for a GPU never load it.
#pragma once
#include <wgpu.h>

#include <string>
#include <string_view>

// Every function of the library that is used here.
#define PYBURN_WGPU_FUNCTIONS(FUNCTION)          \
  FUNCTION(AdapterGetInfo)                       \
  FUNCTION(AdapterGetLimits)                     \
  FUNCTION(AdapterHasFeature)                    \
  FUNCTION(AdapterInfoFreeMembers)               \
  FUNCTION(AdapterRequestDevice)                 \
  FUNCTION(BindGroupLayoutRelease)               \
  FUNCTION(BindGroupRelease)                     \
  FUNCTION(BufferDestroy)                        \
  FUNCTION(BufferGetConstMappedRange)            \
  FUNCTION(BufferMapAsync)                       \
  FUNCTION(BufferRelease)                        \
  FUNCTION(BufferUnmap)                          \
  FUNCTION(CommandBufferRelease)                 \
  FUNCTION(CommandEncoderBeginComputePass)       \
  FUNCTION(CommandEncoderCopyBufferToBuffer)     \
  FUNCTION(CommandEncoderFinish)                 \
  FUNCTION(CommandEncoderRelease)                \
  FUNCTION(ComputePassEncoderDispatchWorkgroups) \
  FUNCTION(ComputePassEncoderEnd)                \
  FUNCTION(ComputePassEncoderRelease)            \
  FUNCTION(ComputePassEncoderSetBindGroup)       \
  FUNCTION(ComputePassEncoderSetPipeline)        \
  FUNCTION(ComputePipelineRelease)               \
  FUNCTION(CreateInstance)                       \
  FUNCTION(DeviceCreateBindGroup)                \
  FUNCTION(DeviceCreateBindGroupLayout)          \
  FUNCTION(DeviceCreateBuffer)                   \
  FUNCTION(DeviceCreateCommandEncoder)           \
  FUNCTION(DeviceCreateComputePipeline)          \
  FUNCTION(DeviceCreatePipelineLayout)           \
  FUNCTION(DeviceCreateShaderModule)             \
  FUNCTION(DeviceDestroy)                        \
  FUNCTION(DeviceGetQueue)                       \
  FUNCTION(DevicePoll)                           \
  FUNCTION(GetVersion)                           \
  FUNCTION(InstanceEnumerateAdapters)            \
  FUNCTION(InstanceProcessEvents)                \
  FUNCTION(PipelineLayoutRelease)                \
  FUNCTION(QueueSubmit)                          \
  FUNCTION(QueueWriteBuffer)                     \
  FUNCTION(SetLogCallback)                       \
  FUNCTION(SetLogLevel)                          \
  FUNCTION(ShaderModuleRelease)

namespace pyburn::wgpu {

struct Native {
#define PYBURN_WGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  PYBURN_WGPU_FUNCTIONS(PYBURN_WGPU_MEMBER)
#undef PYBURN_WGPU_MEMBER
};

// The functions, loaded once. DeviceError with the places that were searched.
const Native& native();
// Why native() fails; empty if it does not.
std::string reason_against_native();

inline WGPUStringView view_of(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text_of(WGPUStringView view) {
  if (!view.data) return "";
  return view.length == WGPU_STRLEN ? std::string(view.data) : std::string(view.data, view.length);
}

}  // namespace pyburn::wgpu
