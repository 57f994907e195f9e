// What a graph costs, in multiplications with an addition.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

int64_t multiply_adds(const Graph& graph);

}  // namespace pyburn
