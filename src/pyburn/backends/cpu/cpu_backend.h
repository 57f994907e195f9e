// The CPU backend: "ndarray", alias "cpu".
#pragma once
#include "pyburn/backends/cpu/kernel_table.h"

namespace pyburn::cpu {

class CpuBackend final : public Backend {
 public:
  CpuBackend();
  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo& op, DType key) const override;
  bool supports_call(OpRef op, Inputs in, Outputs out) const override;
  Ref<PreparedCall> prepare(OpRef op, Inputs in, Outputs out) override;
  Capabilities capabilities() const override { return {.host_memory = true, .byte_views = true, .channels_last = true}; }
  Ref<Storage> allocate(DType dtype, int64_t elements) override;
  void upload(const HostArray& from, const TensorHandle& to) override;
  void download(const TensorHandle& from, const HostArray& to) override;
  MemoryStatistics memory() const override;
  std::string name() const override { return "ndarray"; }
  // Plugins add kernels for their operations here, before the first tensor is created.
  KernelTable& kernels() { return kernels_; }

 private:
  KernelTable kernels_;
};

// The CPU backend of the process (singleton).
CpuBackend& cpu_backend();

// Host memory owned by others (NumPy, DLPack, a mapped file); `release` is called when the last tensor is destroyed.
Ref<Storage> wrap_host_memory(void* data, int64_t bytes, void* context, void (*release)(void* context));

// Kernel families; one file each.
void register_copy(KernelTable&);
void register_bits(KernelTable&);
void register_fill(KernelTable&);
void register_unary(KernelTable&);
void register_transcendental(KernelTable&);
void register_special(KernelTable&);
void register_bessel(KernelTable&);
void register_polynomial(KernelTable&);
void register_activation(KernelTable&);
void register_binary(KernelTable&);
void register_binary_math(KernelTable&);
void register_logic(KernelTable&);
void register_pointwise(KernelTable&);
void register_reduce(KernelTable&);
void register_extremum(KernelTable&);
void register_matmul(KernelTable&);
void register_linalg(KernelTable&);
void register_linalg_spectral(KernelTable&);
void register_conv(KernelTable&);
void register_conv3d(KernelTable&);
void register_unfold(KernelTable&);
void register_pool(KernelTable&);
void register_attention(KernelTable&);
void register_interpolate(KernelTable&);
void register_rnn_steps(KernelTable&);
void register_softmax(KernelTable&);
void register_norm(KernelTable&);
void register_batch_norm(KernelTable&);
void register_cross_entropy(KernelTable&);
void register_ctc_loss(KernelTable&);
void register_random(KernelTable&);
void register_index(KernelTable&);
void register_rearrange(KernelTable&);
void register_scatter(KernelTable&);
void register_grid_sample(KernelTable&);
void register_sample_planes(KernelTable&);
void register_regions(KernelTable&);
void register_segment(KernelTable&);
void register_scan(KernelTable&);
void register_dft(KernelTable&);
void register_sort(KernelTable&);
void register_search(KernelTable&);
void register_optimise(KernelTable&);
void register_fused(KernelTable&);

}  // namespace pyburn::cpu
