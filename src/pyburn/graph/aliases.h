// Alias analysis: which values of a graph may share memory.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

// For each value, a representative of all values that may share memory with it: a view shares with its input.
std::vector<ValueId> alias_groups(const Graph&);
// Values that may share memory with something the graph writes to.
std::vector<bool> values_that_may_be_written(const Graph&);

}  // namespace pyburn
