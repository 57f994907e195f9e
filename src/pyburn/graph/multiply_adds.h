// What a graph costs, in multiplications with an addition.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

// Of the contractions: products of matrices, convolutions, attention, recurrences. Elementwise work is not counted.
int64_t multiply_adds(const Graph& graph);

}  // namespace pyburn
