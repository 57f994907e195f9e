// The cost of a graph in multiply-adds.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

int64_t multiply_adds(const Graph& graph);

}  // namespace pyburn
