// Passes: rewrites that keep what a graph computes, one file each in graph/passes/. A new one is a file there and a line in passes.cpp.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

// A graph that computes the same for all inputs.
struct GraphPass {
  const char* name;
  Ref<Graph> (*run)(const Graph&);
};

// Writes into a value that shares its memory with no other become new values: x.relu_() as relu(x).
Ref<Graph> values_for_writes(const Graph&);
// Runs what depends on constants alone, unless that takes more memory than it reads.
Ref<Graph> fold_constants(const Graph&);
// Scales and shifts of the channels of a convolution, such as a batch normalisation, go into its weight and bias.
Ref<Graph> fold_scales(const Graph&);
// One node for equal operations on equal inputs.
Ref<Graph> merge_equal_nodes(const Graph&);
// GELU and SiLU that are written out in elementary functions.
Ref<Graph> recognise_activations(const Graph&);
// Layer normalisations that are written out.
Ref<Graph> recognise_norms(const Graph&);
// Nodes that write are kept; constants that nobody reads go, too.
Ref<Graph> drop_dead_nodes(const Graph&);

// In the order in which a session applies them.
std::span<const GraphPass> all_passes();
Ref<Graph> simplify(const Graph&);  // keeps the operations: folds constants and drops dead nodes
Ref<Graph> optimise(const Graph&);  // all passes

}  // namespace pyburn
