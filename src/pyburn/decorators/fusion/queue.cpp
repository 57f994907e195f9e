#include "pyburn/decorators/fusion/queue.h"

namespace pyburn {

void Queue::describe(const TensorHandle& t, FusionStorage::Pending use, LoweredOperand& operand) {
  if (!t.defined()) return;
  auto& storage = static_cast<FusionStorage&>(*t.storage());
  if (storage.slot < 0) {
    storages_.push_back(Ref<FusionStorage>(&storage));
    storage.slot = int32_t(storages_.size()) - 1;
    if (storage.inner()) computed_bytes_ += storage.bytes;
  }
  if (storage.pending.load(std::memory_order_relaxed) < use) storage.pending.store(use, std::memory_order_release);
  operand.slot = storage.slot;
  operand.dtype = t.dtype();
  operand.layout = t.layout();
}

void Queue::add(OpRef op, Inputs in, Outputs out) {
  LoweredNode& node = nodes_.emplace_back();
  try {
    node.op = Operation(op);
    node.in.resize(int64_t(in.size()));
    node.out.resize(int64_t(out.size()));
    for (size_t i = 0; i < in.size(); ++i) describe(*in[i], FusionStorage::Pending::read, node.in[int64_t(i)]);
    for (size_t i = 0; i < out.size(); ++i) describe(out[i], FusionStorage::Pending::written, node.out[int64_t(i)]);
  } catch (...) {
    nodes_.pop_back();
    throw;
  }
}

bool Queue::full() const {
  if (int64_t(nodes_.size()) >= kMaxNodes) return true;
  if (computed_bytes_ <= kMaxHeldBytes) return false;
  int64_t held = 0;
  for (int32_t slot = 0; slot < slots(); ++slot)
    if (storage(slot).inner() && !held_elsewhere(slot)) held += storage(slot).bytes;
  return held > kMaxHeldBytes;
}

void Queue::release(int32_t slot) {
  Ref<FusionStorage> storage = std::move(storages_[size_t(slot)]);
  if (!storage) return;
  storage->slot = -1;
  storage->pending.store(FusionStorage::Pending::no, std::memory_order_release);
}

void Queue::clear() {
  for (int32_t slot = 0; slot < slots(); ++slot) release(slot);
  storages_.clear();
  nodes_.clear();
  computed_bytes_ = 0;
}

}  // namespace pyburn
