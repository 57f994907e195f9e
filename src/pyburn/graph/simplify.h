// Rewrites that keep what a graph computes: folding what depends on constants alone, dropping what nobody reads.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

Ref<Graph> fold_constants(const Graph&);   // runs the foldable operations on the device of the constants
Ref<Graph> drop_dead_nodes(const Graph&);  // nodes that write are kept; constants that nobody reads go, too
inline Ref<Graph> simplify(const Graph& g) { return drop_dead_nodes(*fold_constants(g)); }

}  // namespace pyburn
