// Passes: graph rewrites that preserve results, one file each in graph/passes/. To add one, add a file there and a line in passes.cpp.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

// Returns a graph with the same results for all inputs.
struct GraphPass {
  const char* name;
  Ref<Graph> (*run)(const Graph&);
};

// Replaces writes to values that share no memory by new values: x.relu_() becomes relu(x).
Ref<Graph> values_for_writes(const Graph&);
// Constant folding, unless the result takes more memory than its inputs.
Ref<Graph> fold_constants(const Graph&);
// Folds channel scales and shifts, such as batch normalisation, into weight and bias of the convolution or linear layer before them, or of
// a linear layer that reads them flattened.
Ref<Graph> fold_scales(const Graph&);
// Common subexpression elimination: one node for equal operations on equal inputs.
Ref<Graph> merge_equal_nodes(const Graph&);
// GELU and SiLU that are written out in elementary functions.
Ref<Graph> recognise_activations(const Graph&);
// Layer normalisations that are written out.
Ref<Graph> recognise_norms(const Graph&);
// Products with a constant matrix, and a bias, become `linear`.
Ref<Graph> recognise_linear(const Graph&);
// Attention that is written out, for many tokens. Queries that see no key get 0 instead of NaN, as from `attention`.
Ref<Graph> recognise_attention(const Graph&);
// Removes nodes and constants whose results are not used. Nodes that write are kept.
Ref<Graph> drop_dead_nodes(const Graph&);

// Not one of them, because it changes results: products, convolutions, attention and recurrent steps compute in this dtype (float32,
// float16, bfloat16), and their weights are kept in it. Everything else, and what goes in and out, stays as it is.
Ref<Graph> with_precision(const Graph&, DType);

// In the order in which a session applies them.
std::span<const GraphPass> all_passes();
Ref<Graph> simplify(const Graph&);  // keeps the operations: only folds constants and removes dead nodes
Ref<Graph> optimise(const Graph&);  // all passes

}  // namespace pyburn
