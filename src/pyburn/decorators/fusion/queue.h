// The operations of a fusion device that have not run yet, strictly in program order.
#pragma once
#include <vector>

#include "pyburn/decorators/fusion/fusion_storage.h"
#include "pyburn/graph/lowered.h"

namespace pyburn {

class Queue {
 public:
  static constexpr int64_t kMaxNodes = 128;
  static constexpr int64_t kMaxHeldBytes = int64_t(64) << 20;

  Queue() { nodes_.reserve(kMaxNodes); }
  void add(OpRef op, Inputs in, Outputs out);
  bool empty() const { return nodes_.empty(); }
  // Should it run before more is added? Yes if it is long, or keeps much memory alive that is otherwise unused.
  bool full() const;
  // A storage that only the queue references is not visible to anyone after the queue has run.
  bool held_elsewhere(int32_t slot) const { return storages_[size_t(slot)]->use_count() > 1; }
  void release(int32_t slot);  // no later node uses it
  void clear();

  const std::vector<LoweredNode>& nodes() const { return nodes_; }
  int32_t slots() const { return int32_t(storages_.size()); }
  FusionStorage& storage(int32_t slot) const { return *storages_[size_t(slot)]; }

 private:
  void describe(const TensorHandle&, FusionStorage::Pending use, LoweredOperand& operand);

  std::vector<LoweredNode> nodes_;
  std::vector<Ref<FusionStorage>> storages_;  // one reference each, however many nodes use it; null once released
  int64_t computed_bytes_ = 0;                // bytes of the storages that have memory: bounds the memory kept by the queue alone
};

}  // namespace pyburn
