#include "pyburn/backends/wgpu/wgpu_backend.h"

#include <algorithm>

#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/backends/wgpu/on_host.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace wgpu {
namespace {

class WgpuBackend final : public Backend {
 public:
  explicit WgpuBackend(const Adapter& adapter) : gpu_(adapter, lost) {
    for (auto add : {
             register_copy,
             register_fill,
             register_elementwise,
             register_fused,
             register_optimise,
             register_matmul,
             register_conv,
             register_pool,
             register_norm,
             register_cross_entropy,
             register_attention,
             register_rnn_steps,
             register_resampling,
             register_unfold,
             register_segment,
             register_regions,
             register_reduce,
             register_extremum,
             register_softmax,
             register_scan,
             register_sort,
             register_search,
             register_indexing,
             register_movement,
             register_random,
         })
      add(kernels_);
    for (const char* op : {"_ctc_loss", "_ctc_loss_backward"}) kernels_.add_on_host(*OpTable::global().find(op));
  }

  std::string name() const override { return "wgpu"; }
  Capabilities capabilities() const override { return {.asynchronous = true, .dtypes = DTypeSet::all().without(DType::float64)}; }

  KernelSupport support(const OpInfo& op, DType key) const override {
    const KernelTable::Entry* e = kernels_.find(op);
    if (e && e->on_host) return KernelSupport::native;
    if (e && e->dtypes.contains(key) && key != DType::float64) return e->accepts ? KernelSupport::depends : KernelSupport::native;
    return runs_on_host(op) ? KernelSupport::native : KernelSupport::none;
  }
  bool supports_call(OpRef op, Inputs in, Outputs out) const override {
    return kernels_.find(*op.info)->accepts(op, in, out) || runs_on_host(*op.info);
  }

  void execute(OpRef op, Inputs in, Outputs out) override {
    const KernelTable::Entry* e = kernels_.find(*op.info);
    if (!e || e->on_host || !e->dtypes.contains(key_dtype(*op.info, in, out)) || (e->accepts && !e->accepts(op, in, out))) {
      gpu_.count_host_call();
      return run_on_host(*this, op, in, out);
    }
    if (op.info->kind != Kind::dynamic && std::all_of(out.begin(), out.end(), [](const TensorHandle& t) { return t.numel() == 0; })) return;
    for (const TensorHandle& t : out)
      if (t.defined() && t.storage() && storage_of(t).buffer.suspicion.epoch && !reads_output(*op.info) &&
          covers(*t.storage(), t.dtype(), t.layout()) &&
          std::none_of(in.begin(), in.end(), [&](const TensorHandle* x) { return x->defined() && x->storage() == t.storage(); }))
        gpu_.overwritten(storage_of(t).buffer);
    e->kernel({gpu_, op, in, out});
  }

  Ref<Storage> allocate(DType dtype, int64_t elements) override {
    require_dtype(*this, dtype);
    return Ref<Storage>(new GpuStorage(this, gpu_, bytes_of(dtype, elements)));
  }
  void upload(const HostArray& from, const TensorHandle& to) override { gpu_.upload(storage_of(to).buffer, from.data, from.bytes()); }
  void download(const TensorHandle& from, const HostArray& to) override {
    if (from.numel() == 0) return;
    TensorHandle plain = from;
    if (!from.layout().is_contiguous()) {
      plain = make_tensor(from.device(), from.dtype(), contiguous_layout(from.shape()), allocate(from.dtype(), from.numel()));
      copy(gpu_, from, plain);
    }
    gpu_.download(storage_of(plain).buffer, uint64_t(bytes_of(plain.dtype(), plain.layout().offset)), to.data, to.bytes());
  }
  void synchronize() override { gpu_.synchronize(); }
  MemoryStatistics memory() const override { return gpu_.memory(); }
  WgpuCounters counters() { return gpu_.counters(); }
  Gpu& gpu() { return gpu_; }

 private:
  Gpu gpu_;
  KernelTable kernels_;
};

}  // namespace

void KernelTable::add(const char* op, KernelFn kernel, AcceptsFn accepts, DTypeSet dtypes) {
  const OpInfo* info = OpTable::global().find(op);
  require<ValueError>(info, "kernel for an unknown operation: got {}", op);
  add(*info, kernel, accepts, dtypes);
}

TensorHandle scratch(const Call& c, DType dtype, const Shape& shape) {
  const TensorHandle& like = c.out[0];
  return make_tensor(like.device(), dtype, contiguous_layout(shape), like.storage()->owner->allocate(dtype, checked_numel(shape)));
}

TensorHandle relayout(const TensorHandle& x, const Shape& shape, const Dims& strides, int64_t offset) {
  return make_tensor(x.device(), x.dtype(), {shape, strides, offset}, x.impl()->storage);
}

}  // namespace wgpu

void register_wgpu_backend() {
  register_backend({.name = "wgpu",
      .aliases = {"gpu"},
      .doc = "GPUs through WebGPU: Vulkan, Metal, Direct3D 12.",
      .make = [](auto, std::string_view options) { return Ref<Backend>(new wgpu::WgpuBackend(wgpu::find_adapter(options))); },
      .unavailable = wgpu::reason_against_native});
}

std::vector<WgpuAdapter> wgpu_adapters() {
  std::vector<WgpuAdapter> out;
  for (const wgpu::Adapter& a : wgpu::adapters())
    out.push_back({a.name, a.driver, a.kind, a.api, int64_t(std::min(a.limits.maxBufferSize, a.limits.maxStorageBufferBindingSize))});
  return out;
}

std::optional<WgpuCounters> wgpu_counters(const Device& device) {
  auto* backend = dynamic_cast<wgpu::WgpuBackend*>(&device.leaf());
  return backend ? std::optional(backend->counters()) : std::nullopt;
}

bool is_wgpu(const Backend& leaf) { return dynamic_cast<const wgpu::WgpuBackend*>(&leaf); }
void injure_wgpu(const Device& device, int failing_allocation) {
  auto* backend = dynamic_cast<wgpu::WgpuBackend*>(&device.leaf());
  require<DeviceError>(backend, "[wgpu] expected a device on wgpu: got {}", device);
  failing_allocation < 0 ? backend->gpu().lose() : backend->gpu().fail_allocation_after(failing_allocation);
}

bool wgpu_is_best() { return wgpu::has_hardware_adapter(); }

}  // namespace pyburn
