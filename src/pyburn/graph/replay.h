// Replay: runs a graph on a device, operation by operation, through the door.
#pragma once
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

class Replay {
 public:
  // Constants are copied to `device`, or shared if they are already there: then their owner sees writes of the graph, as if the captured
  // function had run.
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
  std::vector<SmallVector<ValueId, 4>> dead_after_;  // per node: the values that are not read later
};

// For each node, the values that no later node or output needs.
std::vector<SmallVector<ValueId, 4>> last_uses(const Graph&);

}  // namespace pyburn
