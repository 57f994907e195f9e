// A graph for any size: captured at three sizes, its integers are solved as a * n + c.
#pragma once
#include <array>
#include <functional>

#include "pyburn/ir/graph.h"

namespace pyburn {

// `capture(n)` gives the graph at size n. Two sizes solve for the integers, the third must agree; 0 and 1 are no good,
// because they change what broadcasts. CaptureError names the operation that does not follow.
Ref<Graph> with_free_extent(const std::function<Ref<Graph>(int64_t n)>& capture, std::array<int64_t, 3> sizes = {3, 5, 8});

// The operations of g with its patches applied for the size n.
std::vector<Operation> operations_at(const Graph& g, int64_t n);
// The size n that these inputs have; ShapeError when they disagree with the graph or with each other.
int64_t free_extent_of(const Graph& g, std::span<const TensorHandle> inputs);

}  // namespace pyburn
