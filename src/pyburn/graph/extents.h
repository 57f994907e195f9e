// Graphs with dynamic sizes: captured at several sizes, from which the expressions for their integers are derived.
#pragma once
#include <functional>

#include "pyburn/ir/graph.h"

namespace pyburn {

struct FreeExtent {
  std::string name;
  int64_t example = 0;  // a size that the function accepts, as do its multiples; 0: any size above 1
};

// `capture(sizes)` returns the graph at these dynamic sizes; `axes` lists where the inputs have them. Captures at one size more than there
// are dynamic sizes, and once with all sizes different. CaptureError names the operation that follows no expression.
Ref<Graph> with_free_extents(const std::function<Ref<Graph>(std::span<const int64_t> sizes)>& capture, std::span<const FreeExtent> extents,
    std::vector<FreeAxis> axes);

// The operation of a node for these dynamic sizes and inputs, of which only the shapes are used.
Operation operation_at(const GraphNode& node, std::span<const int64_t> extents, Inputs in);
// The dynamic sizes of these inputs; ShapeError if they contradict the graph or each other.
using Extents = SmallVector<int64_t, 4>;
Extents extents_of(const Graph& g, std::span<const TensorHandle> inputs);

}  // namespace pyburn
