// What operations cost, in multiplications with an addition.
#pragma once
#include <span>

#include "pyburn/ir/graph.h"

namespace pyburn {

// Of contractions: products of matrices, convolutions, attention, recurrences; 0 for other operations.
int64_t multiply_adds(const OpInfo& op, std::span<const Shape* const> in, const Shape& out);
int64_t multiply_adds(const Graph& graph);

}  // namespace pyburn
