#include "pyburn/backends/cpu/cpu_backend.h"

#include <cstring>
#include <memory>

#include "pyburn/backends/cpu/fused/fused.h"
#include "pyburn/backends/cpu/fused/product.h"
#include "pyburn/backends/cpu/shared_memory.h"
#include "pyburn/backends/cpu/simd_level.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ir/operation.h"
#include "pyburn/runtime/allocator.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interruptible.h"

namespace pyburn::cpu {
namespace {

class CpuStorage final : public HostStorage {
 public:
  CpuStorage(Backend* owner, int64_t bytes) : HostStorage(owner, bytes, host_allocate(bytes)) {}
  ~CpuStorage() override {
    if (void* first = first_memory()) free_memory(first);
  }

 protected:
  void free_memory(void* first) noexcept override { host_free(first, bytes); }
};

class ForeignStorage final : public HostStorage {
 public:
  ForeignStorage(Backend* owner, void* data, int64_t bytes, void* context, void (*release)(void*))
      : HostStorage(owner, bytes, data), context_(context), release_(release) {
    exposed = true;
  }
  ~ForeignStorage() override { release_(context_); }

 protected:
  void free_memory(void*) noexcept override {}  // the memory has another owner; the allocator must not reuse it

 private:
  void* context_;
  void (*release_)(void*);
};

// Element-wise kernels, reductions and similar run in short chunks with checks for Ctrl-C; other kernels may not check.
bool may_take_long(const OpInfo& info, Inputs in, Outputs out) {
  if (info.kind != Kind::contract && info.kind != Kind::opaque && info.kind != Kind::dynamic) return false;
  constexpr int64_t kLong = 1 << 23;  // elements: some 10 ms at least
  int64_t elements = 0;
  for (const TensorHandle* t : in) elements += t->defined() ? t->numel() : 0;
  for (const TensorHandle& t : out) elements += t.defined() ? t.numel() : 0;
  return elements >= kLong;
}

// The tensors are new ones on the same storages: what the caller does to its own after an interrupt does not matter.
void run_long(KernelFn kernel, OpRef op, Inputs in, Outputs out) {
  struct Owned {
    Operation op;
    SmallVector<TensorHandle, 8> in;
    Tensors out;
  };
  auto own = [](const TensorHandle& t) { return t.defined() && t.storage() ? alias(t, t.layout()) : t; };
  const auto owned = std::make_shared<Owned>();
  owned->op = Operation(op);
  for (const TensorHandle* t : in) owned->in.push_back(own(*t));
  for (const TensorHandle& t : out) owned->out.push_back(own(t));
  run_interruptible([kernel, owned] {
    InputList list;
    list.add(owned->in);
    kernel(owned->op.attrs(), list, {owned->out.data(), size_t(owned->out.size())});
  });
  if (op.info->kind == Kind::dynamic)
    for (size_t i = 0; i < out.size(); ++i) out[i] = owned->out[int64_t(i)];
}

}  // namespace

void KernelTable::add_tile(const OpInfo& op, DType compute, Tile tile) {
  for (DType k : all_dtypes())
    if (compute_dtype(k) == compute) slot(op, k).tile = tile;
}

void KernelTable::add_tile(const char* name, DType compute, Tile tile) {
  const OpInfo* op = OpTable::global().find(name);
  require<ValueError>(op, "kernel for an unknown operation: got {}", name);
  add_tile(*op, compute, tile);
}

CpuBackend::CpuBackend() {
  limit_simd_by_environment();
  for (auto add : {
           register_copy,
           register_bits,
           register_fill,
           register_unary,
           register_transcendental,
           register_special,
           register_bessel,
           register_polynomial,
           register_activation,
           register_binary,
           register_binary_math,
           register_logic,
           register_pointwise,
           register_reduce,
           register_extremum,
           register_matmul,
           register_linalg,
           register_linalg_spectral,
           register_conv,
           register_conv3d,
           register_unfold,
           register_pool,
           register_attention,
           register_interpolate,
           register_rnn_steps,
           register_softmax,
           register_norm,
           register_batch_norm,
           register_cross_entropy,
           register_ctc_loss,
           register_random,
           register_index,
           register_rearrange,
           register_scatter,
           register_grid_sample,
           register_sample_planes,
           register_regions,
           register_segment,
           register_scan,
           register_dft,
           register_sort,
           register_search,
           register_optimise,
           register_fused,
       })
    add(kernels_);
}

KernelSupport CpuBackend::support(const OpInfo& op, DType key) const {
  if (!kernels_.find(op, key) && !kernels_.tile(op, key).fn) return KernelSupport::none;
  return kernels_.condition(op) ? KernelSupport::depends : KernelSupport::native;
}

bool CpuBackend::supports_call(OpRef op, Inputs in, Outputs) const { return kernels_.condition(*op.info)(op.attrs, in); }

void CpuBackend::execute(OpRef op, Inputs in, Outputs out) {
  const DType key = op.info->key < in.size() ? in[op.info->key]->dtype() : out[0].dtype();
  if (const Tile tile = kernels_.tile(*op.info, key); tile.fn) return run_tile(tile, compute_dtype(key), op.attrs, in, out[0]);
  const KernelFn kernel = kernels_.find(*op.info, key);
  may_take_long(*op.info, in, out) ? run_long(kernel, op, in, out) : kernel(op.attrs, in, out);
}

// Long calls run where an interrupt can leave them behind: see run_long().
Ref<PreparedCall> CpuBackend::prepare(OpRef op, Inputs in, Outputs out) {
  if (op.info != &op::fused) return pack_constant_weight(op, in, out[0]), nullptr;
  return may_take_long(*op.info, in, out) ? nullptr : prepare_fused(op.as<Fused>(), in, out);
}

Ref<Storage> CpuBackend::allocate(DType dtype, int64_t elements) { return make_ref<CpuStorage>(this, bytes_of(dtype, elements)); }

void CpuBackend::upload(const HostArray& from, const TensorHandle& to) {
  if (from.bytes() > 0) std::memcpy(to.data<std::byte>(), from.data, size_t(from.bytes()));
}

void CpuBackend::download(const TensorHandle& from, const HostArray& to) {
  const int64_t size = size_of(from.dtype());
  const char* p = static_cast<const char*>(from.storage()->host) + from.layout().offset * size;
  if (from.layout().is_contiguous()) {
    if (to.bytes() > 0) std::memcpy(to.data, p, size_t(to.bytes()));
    return;
  }
  char* q = static_cast<char*>(to.data);
  const Layout& l = from.layout();
  Dims index(l.rank(), 0);
  for (int64_t k = 0, n = from.numel(); k < n; ++k, q += size) {
    int64_t o = 0;
    for (int i = 0; i < l.rank(); ++i) o += index[i] * l.strides[i];
    std::memcpy(q, p + o * size, size_t(size));
    for (int i = l.rank() - 1; i >= 0 && ++index[i] == l.shape[i]; --i) index[i] = 0;
  }
}

MemoryStatistics CpuBackend::memory() const { return host_memory(); }

CpuBackend& cpu_backend() {
  static auto* backend = [] {
    auto* b = new CpuBackend;
    b->retain();
    return b;
  }();
  return *backend;
}

Ref<Storage> wrap_host_memory(void* data, int64_t bytes, void* context, void (*release)(void*)) {
  return Ref<Storage>(new ForeignStorage(&cpu_backend(), data, bytes, context, release));
}

}  // namespace pyburn::cpu
