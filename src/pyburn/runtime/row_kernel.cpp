#include "pyburn/runtime/row_kernel.h"

#include <algorithm>

#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/log.h"

namespace pyburn {
namespace {

bool serves(const OpInfo& row, const Backend& leaf) { return row.serves ? row.serves(row, leaf) : leaf.capabilities().host_memory; }

// Tensors of a leaf as programs have them: an operation that the kernel calls enters at the top of this device.
Device& device_of_leaf(Backend& leaf) {
  const Ref<Backend> backend(&leaf);
  return device_of(decorate("autodiff", {&backend, 1}));
}

TensorHandle rehomed(Device& device, const TensorHandle& x) { return make_tensor(device, x.dtype(), x.layout(), x.impl()->storage); }

TensorHandle copied(const TensorHandle& x) {
  InputList in;
  in.add(x);
  return call(op::cast, CastTo{x.dtype()}, in);
}

// A result in memory of its own: a kernel may give one of its inputs, or a part of it.
TensorHandle owned(const TensorHandle& result, const Tensors& given) {
  const bool shared =
      std::any_of(given.begin(), given.end(), [&](const TensorHandle& t) { return t.defined() && t.storage() == result.storage(); });
  return shared || !result.layout().is_contiguous() || result.layout().offset != 0 ? copied(result) : result;
}

Device& device_of_call(Inputs in, Outputs out) {
  for (const TensorHandle& t : out)
    if (t.defined()) return t.device();
  for (const TensorHandle* t : in)
    if (t->defined()) return t->device();
  return default_device();
}

}  // namespace

bool row_kernel_runs_on(const Backend& leaf, const OpInfo& row) {
  return row.kernel && leaf.capabilities().values && (serves(row, leaf) || !row.decompose);
}

void run_row_kernel(Backend& leaf, OpRef op, Inputs in, Outputs out) {
  const OpInfo& row = *op.info;
  Device& home = device_of_leaf(leaf);
  const bool here = serves(row, leaf);
  if (!here)
    log_once(format("[{}] has a kernel only for host memory: it runs there, which copies from and to {}", row.name(), leaf.name()));
  Device& device = device_of_call(in, out);
  Tensors given;
  {
    const LevelScope whole(nullptr);  // a kernel is a program of its own
    for (const TensorHandle* t : in)
      given.push_back(t->defined() ? moved_to(here ? home : host_device(), rehomed(home, *t)) : TensorHandle());
    InputList list;
    list.add(given);
    Tensors results = row.kernel(op, list);
    require<ValueError>(results.size() == int64_t(out.size()), "the kernel returned the wrong number of results: expected {}, got {}",
        int64_t(out.size()), results.size());
    for (size_t i = 0; i < out.size(); ++i) {
      const TensorHandle& result = results[int64_t(i)];
      if (out[i].defined())
        require<ValueError>(result.meta() == out[i].meta(), "the result of the kernel differs from inference: expected {} {}, got {} {}",
            out[i].dtype(), out[i].shape(), result.dtype(), result.shape());
      given.push_back(owned(moved_to(home, result), given));  // two results must not share memory either
    }
  }
  Tensors results;
  for (size_t i = 0; i < out.size(); ++i) results.push_back(rehomed(device, given[int64_t(in.size() + i)]));
  const LevelScope scope(leaf);
  place_results(std::move(results), out);
}

}  // namespace pyburn
