// Graphs for many sizes: captured at some, and solved for what their integers follow from.
#pragma once
#include <functional>

#include "pyburn/ir/graph.h"

namespace pyburn {

struct FreeExtent {
  std::string name;
  int64_t example = 0;  // a size that the function takes; its multiples must do, too. 0: any size above 1 does
};

// `capture(sizes)` gives the graph at these sizes of the free extents; `axes` says where the inputs have them. The graph is captured at one
// size more than there are extents, and one at which all differ. CaptureError names the operation that follows from none of it.
Ref<Graph> with_free_extents(const std::function<Ref<Graph>(std::span<const int64_t> sizes)>& capture, std::span<const FreeExtent> extents,
    std::vector<FreeAxis> axes);

// The operation of a node for these extents and these inputs, of which only the shapes count.
Operation operation_at(const GraphNode& node, std::span<const int64_t> extents, Inputs in);
// The sizes of the free extents that these inputs have; ShapeError when they disagree with the graph or with each other.
using Extents = SmallVector<int64_t, 4>;
Extents extents_of(const Graph& g, std::span<const TensorHandle> inputs);

}  // namespace pyburn
