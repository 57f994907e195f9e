// A run of a graph through the door, operation by operation, wherever the stack is entered.
#pragma once
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

using Extents = SmallVector<int64_t, 4>;

// The operation of a node for these extents and these inputs, of which only the shapes count.
Operation operation_at(const GraphNode& node, std::span<const int64_t> extents, Inputs in);
// The sizes of the free extents that these inputs have, and -1 for unknown ones; ShapeError when they disagree with the graph or with each
// other.
Extents extents_of(const Graph& g, Inputs inputs);
// Those of the capture.
Extents captured_extents(const Graph& g);

class GraphRun {
 public:
  GraphRun(const Graph& g, Extents extents, Device* device = nullptr);
  const TensorHandle& operator[](ValueId v) const { return values_[size_t(v)]; }
  void set(ValueId v, TensorHandle t) { values_[size_t(v)] = std::move(t); }
  std::span<const int64_t> extents() const { return {extents_.data(), size_t(extents_.size())}; }

  Operation operation(const GraphNode& node) const { return operation_at(node, extents(), inputs_of(node)); }
  void run(const GraphNode& node);
  void run(const GraphNode& node, const Operation& op);  // as operation() gave it
  void set_results(const GraphNode& node, Tensors results);
  void run_updates();
  Tensors outputs() const;

 private:
  InputList inputs_of(const GraphNode& node) const;
  const Graph& graph_;
  Device* device_;
  Extents extents_;
  std::vector<TensorHandle> values_;
};

// The outputs for these inputs. The graph has no constants and no updates: such are the graphs inside operations.
Tensors run_graph(const Graph& g, Inputs inputs);

}  // namespace pyburn
