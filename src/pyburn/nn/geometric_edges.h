// Edges of graphs: pairs of node indices, their attributes, and reductions over the edges of each node.
#pragma once
#include <optional>
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn::nn::geometric {

struct Edges {
  TensorHandle index;  // (2, E): source and target of each edge
  TensorHandle attr;   // a row or a number per edge; undefined if edges have no attributes
  TensorHandle sources() const;
  TensorHandle targets() const;
};

// `given`, or one more than the largest index.
int64_t node_count(const TensorHandle& index, std::optional<int64_t> given = {});

// Reduces the slices of src along dim that have the same index: "sum" ("add"), "mean", "max", "min", "mul" ("prod"). Empty groups are
// 0.
TensorHandle scatter(const TensorHandle& src, const TensorHandle& index, int64_t dim = 0, std::optional<int64_t> size = {},
    const std::string& reduce = "sum");
// Softmax over the slices with the same index.
TensorHandle softmax(const TensorHandle& src, const TensorHandle& index, std::optional<int64_t> num_nodes = {}, int64_t dim = 0);

// The attribute of an added self-loop: a number, a tensor, or a reduction of the node's incoming edges.
struct LoopFill {
  double number = 1;
  TensorHandle tensor;  // replaces the number, if defined
  std::string reduce;   // replaces both, if not empty
};
Edges remove_self_loops(const Edges& edges);
bool contains_self_loops(const TensorHandle& index);
TensorHandle to_undirected(const TensorHandle& index, std::optional<int64_t> num_nodes = {});  // both directions, unique, sorted
// Appends a self-loop for each node.
Edges add_self_loops(const Edges& edges, const LoopFill& fill = {}, std::optional<int64_t> num_nodes = {});
// As above for nodes without one; existing self-loops are moved to the end with their attributes.
Edges add_remaining_self_loops(const Edges& edges, const LoopFill& fill = {}, std::optional<int64_t> num_nodes = {});

struct GcnNormOptions {
  std::optional<int64_t> num_nodes;
  bool improved = false;            // self-loops have weight 2
  bool add_self_loops = true;       //
  bool target_to_source = false;    // degrees count outgoing edges
  std::optional<DType> dtype = {};  // dtype of weights, if there are none yet
};
// The edges with self-loops, and their weights divided by the square roots of the degrees of both ends.
Edges gcn_norm(const Edges& edges, const GcnNormOptions& options = {});

}  // namespace pyburn::nn::geometric
