// Replay: runs a graph on a device, operation by operation, through the door.
#pragma once
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

class Replay {
 public:
  // Constants move to `device`; those that are there already are shared, so what the graph writes to them is seen
  // by their owner, as it would be by running the captured function.
  Replay(Ref<Graph> graph, Device& device);
  // Inputs are on `device`. Values are freed after their last use. Threads may run at once unless the graph writes
  // to its constants.
  // `constants`: what stands for those of the graph; empty for its own.
  Tensors run(std::span<const TensorHandle> inputs, std::span<const TensorHandle> constants = {});
  const Graph& graph() const { return *graph_; }
  Device& device() const { return device_; }

 private:
  Ref<Graph> graph_;
  Device& device_;
  std::vector<TensorHandle> constants_;              // parallel to the graph's
  std::vector<SmallVector<ValueId, 4>> dead_after_;  // per node: the values that nothing reads any more
};

// For each node, the values that no later node and no output needs.
std::vector<SmallVector<ValueId, 4>> last_uses(const Graph&);

}  // namespace pyburn
