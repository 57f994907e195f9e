// Edges of graphs: pairs of node numbers, what they carry, and reductions over those that end in the same node.
#pragma once
#include <optional>
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn::nn::geometric {

struct Edges {
  TensorHandle index;  // (2, E): where each edge begins, and where it ends
  TensorHandle attr;   // a row or a number per edge; undefined where edges carry nothing
  TensorHandle sources() const;
  TensorHandle targets() const;
};

// `given`, or one more than the largest node in the index.
int64_t node_count(const TensorHandle& index, std::optional<int64_t> given = {});

// The parts of src along dim that have the same number in index, reduced: "sum" ("add"), "mean", "max", "min", "mul" ("prod"). 0 where
// there are none.
TensorHandle scatter(const TensorHandle& src, const TensorHandle& index, int64_t dim = 0, std::optional<int64_t> size = {},
    const std::string& reduce = "sum");
// The softmax over parts that have the same number in index.
TensorHandle softmax(const TensorHandle& src, const TensorHandle& index, std::optional<int64_t> num_nodes = {}, int64_t dim = 0);

// What a loop that is added carries: a number, a tensor, or a reduction of the edges that end in its node.
struct LoopFill {
  double number = 1;
  TensorHandle tensor;  // in the place of the number, where defined
  std::string reduce;   // in the place of both, where not empty
};
Edges remove_self_loops(const Edges& edges);
bool contains_self_loops(const TensorHandle& index);
TensorHandle to_undirected(const TensorHandle& index, std::optional<int64_t> num_nodes = {});  // each edge both ways, once, sorted
// One more edge from each node to itself, after the others.
Edges add_self_loops(const Edges& edges, const LoopFill& fill = {}, std::optional<int64_t> num_nodes = {});
// The same for nodes that have none; those that are there move to the end, too, with what they carry.
Edges add_remaining_self_loops(const Edges& edges, const LoopFill& fill = {}, std::optional<int64_t> num_nodes = {});

struct GcnNormOptions {
  std::optional<int64_t> num_nodes;
  bool improved = false;            // loops weigh 2
  bool add_self_loops = true;       //
  bool target_to_source = false;    // degrees count the edges that begin in a node
  std::optional<DType> dtype = {};  // of weights, where there are none yet
};
// The edges with loops, and their weights divided by the roots of the degrees of both ends.
Edges gcn_norm(const Edges& edges, const GcnNormOptions& options = {});

}  // namespace pyburn::nn::geometric
