#include "pyburn/backends/wgpu/wgsl_kernel.h"

#include <set>

#include "pyburn/backends/wgpu/shader.h"
#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (name.empty() || !letter(name[0])) return false;
  for (char c : name)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '_') return false;
  return true;
}

void check_names(const WgslKernel& k, const WgslNumbers& numbers) {
  std::set<std::string> known;
  const auto check = [&](const std::string& name) {
    require<ValueError>(is_identifier(name), "a name must consist of letters, digits and underscores: got '{}'", name);
    require<ValueError>(known.insert(name).second, "a name is used twice: got '{}'", name);
  };
  for (const std::string& name : k.inputs) check(name);
  for (const std::string& name : k.outputs) check(name);
  for (const auto& [name, value] : numbers) check(name);
}

Tensors run_checked(const WgslKernel& k, Inputs in, Metas out, const WgslNumbers& numbers, int64_t count) {
  check_names(k, numbers);
  require<ValueError>(in.size() == k.inputs.size() && !in.empty(), "the kernel has {} inputs: got {} tensors", int64_t(k.inputs.size()),
      int64_t(in.size()));
  require<ValueError>(out.size() == k.outputs.size() && !out.empty(), "the kernel has {} outputs: got {} shapes", int64_t(k.outputs.size()),
      int64_t(out.size()));
  for (const Meta& m : out)
    for (const int64_t extent : m.shape) require(extent >= 0, "extents must not be negative: got {}", m.shape);
  require<ValueError>(count >= 0, "count must not be negative: got {}", count);
  for (const TensorHandle* t : in) {
    require<ValueError>(t->defined(), "a tensor is missing");
    require<DeviceError>(dynamic_cast<wgpu::GpuStorage*>(t->storage()),
        "expected tensors on wgpu: got one on {}; an operation that names the kernel for wgpu receives such tensors", t->device());
    require<DeviceError>(
        t->storage()->owner == in[0]->storage()->owner, "tensors are on different devices: got {} and {}", in[0]->device(), t->device());
  }
  wgpu::Gpu& gpu = wgpu::storage_of(*in[0]).gpu;
  const WGPULimits& limits = gpu.limits();
  require<ValueError>(in.size() + out.size() <= limits.maxStorageBuffersPerShaderStage,
      "a kernel can have at most {} tensors on this device: got {}", int64_t(limits.maxStorageBuffersPerShaderStage),
      int64_t(in.size() + out.size()));
  require<ValueError>(k.workgroup_size >= 0 && uint32_t(k.workgroup_size) <= limits.maxComputeInvocationsPerWorkgroup &&
                          uint32_t(k.workgroup_size) <= limits.maxComputeWorkgroupSizeX,
      "workgroup_size must be from 0 to {} on this device: got {}",
      int64_t(std::min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX)), k.workgroup_size);

  Tensors results;
  wgpu::Shader s(gpu);
  for (size_t i = 0; i < in.size(); ++i) s.input(k.inputs[i].c_str(), *in[i]);
  for (size_t i = 0; i < out.size(); ++i) {
    Backend& owner = *in[0]->storage()->owner;
    results.push_back(make_tensor(
        in[0]->device(), out[i].dtype, contiguous_layout(out[i].shape), owner.allocate(out[i].dtype, checked_numel(out[i].shape))));
    s.output(k.outputs[i].c_str(), results.back());
  }
  for (const auto& [name, value] : numbers) {
    if (const float* v = std::get_if<float>(&value)) {
      s.number(name, *v);
      continue;
    }
    const int64_t v = std::get<int64_t>(value);
    require<ValueError>(v >= 0 && v <= int64_t(UINT32_MAX), "an integer must fit into 32 bits without a sign: got {} for '{}'", v, name);
    s.number(name, uint32_t(v));
  }
  s.declare(k.declarations);
  k.workgroup_size > 0 ? s.run_groups(count, k.workgroup_size, k.body) : s.run_each(count, k.body);
  return results;
}

}  // namespace

Tensors run_wgsl(const WgslKernel& k, Inputs in, Metas out, const WgslNumbers& numbers, int64_t count) {
  return naming(k.name, [&] { return run_checked(k, in, out, numbers, count); });
}

bool runs_wgsl(const OpInfo&, const Backend& leaf) { return is_wgpu(leaf); }

}  // namespace pyburn
