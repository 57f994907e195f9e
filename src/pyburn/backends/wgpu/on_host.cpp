#include "pyburn/backends/wgpu/on_host.h"

#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/log.h"

namespace pyburn::wgpu {

bool runs_on_host(const OpInfo& op) { return !op.decompose && !op.kernel && op.kind != Kind::view; }

void run_on_host(Backend& gpu, OpRef op, Inputs in, Outputs out) {
  log_once(format("[{}] has no kernel on wgpu: it runs on the CPU, which copies from and to the GPU", op.info->name()));
  Device& host = host_device();
  Backend& leaf = host.leaf();
  const auto on_host = [&](const Meta& m) {
    return make_tensor(host, m.dtype, contiguous_layout(m.shape), leaf.allocate(m.dtype, checked_numel(m.shape)));
  };
  Tensors given, made;
  for (const TensorHandle* t : in) {
    given.push_back(t->defined() ? on_host(t->meta()) : TensorHandle());
    if (t->defined()) gpu.download(*t, {host_memory(given.back()), t->meta()});
  }
  InputList list;
  list.add(given);
  Device* home = nullptr;
  for (const TensorHandle* t : in)
    if (t->defined()) home = &t->device();
  for (const TensorHandle& t : out) {
    if (!t.defined()) {
      made.push_back({});
      continue;
    }
    home = &t.device();
    // Operations that change their first input in place find it in their output.
    made.push_back(on_host(t.meta()));
    if (t.storage()) gpu.download(t, {host_memory(made.back()), t.meta()});
  }
  {
    const LevelScope scope(leaf);
    run(leaf, op, list, {made.data(), size_t(made.size())});
  }
  Tensors results;
  for (const TensorHandle& t : made) {
    TensorHandle plain = t;
    if (!plain.layout().is_contiguous()) {
      plain = on_host(t.meta());
      leaf.download(t, {host_memory(plain), t.meta()});
    }
    const Meta meta = plain.meta();
    TensorHandle back = make_tensor(*home, meta.dtype, contiguous_layout(meta.shape), gpu.allocate(meta.dtype, plain.numel()));
    gpu.upload({host_memory(plain), meta}, back);
    results.push_back(std::move(back));
  }
  const LevelScope scope(gpu);
  place_results(std::move(results), out);
}

}  // namespace pyburn::wgpu
