#include "pyburn/graph/multiply_adds.h"

#include "pyburn/support/checked.h"

namespace pyburn {

int64_t multiply_adds(const Graph& graph) {
  Checked total = 0;
  for (const GraphNode& n : graph.nodes) {
    if (!n.op.info().multiply_adds) continue;
    SmallVector<const Shape*, 8> in;
    static const Shape absent{};
    for (ValueId id : n.in) in.push_back(id < 0 ? &absent : &graph.values[size_t(id)].shape);
    total += n.op.info().multiply_adds({in.data(), size_t(in.size())}, graph.values[size_t(n.out[0])].shape);
  }
  return total;
}

}  // namespace pyburn
