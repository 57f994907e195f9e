// A graph as stages: operations that are known before values are, and between them single nodes whose results, or whose work, follow from
// values: sizes that are counted, branches, loops.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

struct GraphStage {
  int32_t node = -1;  // a node of the graph that runs on its own; -1: those of `part`
  // Values have the numbers that they have in the whole graph, and so have extents. Null for a single node.
  Ref<Graph> part;
};

// The stages in order of execution. One where the graph has no such node.
std::vector<GraphStage> split(const Graph& g);

}  // namespace pyburn
