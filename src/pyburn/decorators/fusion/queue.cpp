#include "pyburn/decorators/fusion/queue.h"

namespace pyburn {

QueuedOperand Queue::operand(const TensorHandle& t, FusionStorage::Pending use) {
  if (!t.defined()) return {};
  auto& storage = static_cast<FusionStorage&>(*t.storage());
  if (storage.slot < 0) {
    storages_.push_back(Ref<FusionStorage>(&storage));
    storage.slot = int32_t(storages_.size()) - 1;
    if (storage.inner) computed_bytes_ += storage.bytes;
  }
  if (storage.pending.load(std::memory_order_relaxed) < use) storage.pending.store(use, std::memory_order_release);
  return {storage.slot, t.dtype(), t.layout()};
}

void Queue::add(OpRef op, Inputs in, Outputs out) {
  QueuedNode node;
  node.op = Operation(op);
  for (const TensorHandle* t : in) node.in.push_back(operand(*t, FusionStorage::Pending::read));
  for (const TensorHandle& t : out) node.out.push_back(operand(t, FusionStorage::Pending::written));
  nodes_.push_back(std::move(node));
}

bool Queue::full() const {
  if (int64_t(nodes_.size()) >= kMaxNodes) return true;
  if (computed_bytes_ <= kMaxHeldBytes) return false;
  int64_t held = 0;
  for (int32_t slot = 0; slot < slots(); ++slot)
    if (storage(slot).inner && !held_elsewhere(slot)) held += storage(slot).bytes;
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
