#include "pyburn/decorators/fusion/fusion.h"

#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"
#include "pyburn/support/patient_lock.h"

namespace pyburn {
using Pending = FusionStorage::Pending;

namespace {
bool splits_runs(const OpInfo& op) { return op.kind != Kind::elementwise && op.fusing != Fusing::ends; }
}  // namespace

Fusion::Fusion(Ref<Backend> inner)
    : Decorator(std::move(inner)),
      memory_owner_(storage_maker(*inner_)),
      asynchronous_(inner_->capabilities().asynchronous),
      small_limit_(asynchronous_ ? 0 : kSmallLimit) {}

// What the inner backend cannot run is decomposed above the queue, where its parts can be fused.
KernelSupport Fusion::support(const OpInfo& op, DType key) const { return inner_->known_support(op, key); }

Capabilities Fusion::capabilities() const {
  Capabilities c = Decorator::capabilities();
  c.host_memory = false;  // it may be pending
  return c;
}

Ref<Storage> Fusion::allocate(DType dtype, int64_t elements) {
  require_dtype(*this, dtype);
  return Ref<Storage>(new FusionStorage(this, dtype, elements));
}

FusionStorage& Fusion::storage_of(const TensorHandle& t) const {
  if (t.storage()->owner != this) [[unlikely]]
    fail<DeviceError>("expected a tensor on {}: got one on {}", name(), t.storage()->owner->name());
  return static_cast<FusionStorage&>(*t.storage());
}

bool Fusion::may_pass(const OpInfo& op, Inputs in, Outputs out) const {
  const int64_t limit = small_limit();
  if (limit == 0) return false;
  if ((op.kind == Kind::elementwise || op.fusing == Fusing::begins) && out[0].numel() > limit) return false;
  // What a spoiled storage means for the result is settled by the queue.
  for (const TensorHandle* t : in)
    if (t->defined() && (storage_of(*t).pending.load(std::memory_order_acquire) == Pending::written || t->storage()->error.is_set()))
      return false;
  for (const TensorHandle& t : out)
    if (storage_of(t).pending.load(std::memory_order_acquire) != Pending::no || t.storage()->error.is_set()) return false;
  return true;
}

void Fusion::execute(OpRef op, Inputs in, Outputs out) {
  if (op.info->kind == Kind::dynamic) return run_dynamic(op, in, out);
  if (may_pass(*op.info, in, out)) return run_at_once(op, in, out);
  for (const TensorHandle* t : in)
    if (t->defined()) storage_of(*t);
  for (const TensorHandle& t : out) storage_of(t);
  PatientLock lock(mutex_);
  // Cut where no run continues anyway, the steps of a loop are cut alike and find their plans and compiled kernels again. Cut by length
  // alone, each step would be divided in another way.
  if (queue_.full() || (asynchronous_ && splits_runs(*op.info))) flush_locked();
  queue_.add(op, in, out);
  ++statistics_.queued;
}

TensorHandle Fusion::computed(FusionStorage& storage, DType dtype, const Layout& layout) {
  return make_tensor(
      inner_device_(inner_), dtype, layout, storage.inner_or([&] { return memory_owner_.allocate(storage.dtype, storage.elements); }));
}

TensorHandle Fusion::inner_tensor(FusionStorage& storage, DType dtype, const Layout& layout) {
  raise_if_spoiled(storage);
  return computed(storage, dtype, layout);
}

TensorHandle Fusion::inner_tensor(const TensorHandle& t) {
  return t.defined() ? inner_tensor(storage_of(t), t.dtype(), t.layout()) : TensorHandle();
}

// The door has raised the version of the storage that the user knows; caches of the inner backend look at its own.
TensorHandle Fusion::inner_target(FusionStorage& storage, DType dtype, const Layout& layout) {
  if (Storage* inner = storage.inner()) inner->note_write();
  return computed(storage, dtype, layout);
}

// Outside the lock: nothing that it touches is pending.
void Fusion::run_at_once(OpRef op, Inputs in, Outputs out) {
  SmallVector<TensorHandle, 4> inputs;
  Tensors outputs;
  InputList list;
  for (const TensorHandle* t : in) inputs.push_back(inner_tensor(*t));
  list.add(inputs);
  for (const TensorHandle& t : out) outputs.push_back(inner_target(storage_of(t), t.dtype(), t.layout()));
  LevelScope scope(*inner_);
  run(*inner_, op, list, {outputs.data(), size_t(outputs.size())});
  passed_.fetch_add(1, std::memory_order_relaxed);
}

// The inner backend makes the outputs; their size depends on values.
void Fusion::run_dynamic(OpRef op, Inputs in, Outputs out) {
  flush();
  SmallVector<TensorHandle, 4> inputs;
  InputList list;
  for (const TensorHandle* t : in) inputs.push_back(inner_tensor(*t));
  list.add(inputs);
  Tensors results(int64_t(out.size()), {});
  {
    LevelScope scope(*inner_);
    run(*inner_, op, list, {results.data(), size_t(results.size())});
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorHandle& r = results[int64_t(i)];
    out[i] = make_tensor(in[0]->device(), r.dtype(), r.layout(), adopt(r.impl()->storage, r.dtype()));
  }
}

Ref<Storage> Fusion::adopt(Ref<Storage> inner, DType dtype) {
  const int64_t elements = inner->bytes / size_of(dtype);
  return Ref<Storage>(new FusionStorage(this, dtype, elements, std::move(inner)));
}

Ref<Storage> Fusion::materialise(const TensorHandle& x) {
  if (storage_of(x).pending.load(std::memory_order_acquire) != Pending::no) flush();
  return inner_tensor(x).impl()->storage;
}

void Fusion::upload(const HostArray& from, const TensorHandle& to) {
  if (storage_of(to).pending.load(std::memory_order_acquire) != Pending::no) flush();
  to.storage()->error.set(nullptr);
  inner_->upload(from, inner_target(storage_of(to), to.dtype(), to.layout()));
}

void Fusion::download(const TensorHandle& from, const HostArray& to) {
  if (storage_of(from).pending.load(std::memory_order_acquire) == Pending::written) flush();
  read_elements(*inner_, inner_tensor(from), to);
}

void Fusion::synchronize() {
  flush();
  inner_->synchronize();
}

void Fusion::flush() {
  PatientLock lock(mutex_);
  flush_locked();
}

FusionStatistics Fusion::statistics() const {
  PatientLock lock(mutex_);
  FusionStatistics s = statistics_;
  s.passed = passed_.load(std::memory_order_relaxed);
  return s;
}

void Fusion::reset_statistics() {
  PatientLock lock(mutex_);
  statistics_ = {};
  passed_ = 0;
}

Fusion* fusion_of(const Device& device) {
  for (Backend* b = &device.backend(); b; b = b->inner())
    if (auto* fusion = dynamic_cast<Fusion*>(b)) return fusion;
  return nullptr;
}

void register_fusion() {
  register_backend({
      .name = "fusion",
      .doc = "Fuses runs of element-wise operations to single kernels of the inner backend.",
      .decorator = true,
      .make = [](std::span<const Ref<Backend>> inner, std::string_view options) -> Ref<Backend> {
        require_no_options("fusion", options);
        require<DeviceError>(inner.size() == 1, "[device] fusion wraps one backend: got {}", int64_t(inner.size()));
        return Ref<Backend>(new Fusion(inner[0]));
      },
  });
}

}  // namespace pyburn
