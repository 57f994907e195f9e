#include "pyburn/graph/split.h"

#include <algorithm>

namespace pyburn {
namespace {

bool stands_alone(const GraphNode& n) { return n.op.info().kind == Kind::dynamic; }

// The number of nodes of their own that must have run before each node. Nodes that write keep the order of the program.
std::vector<int32_t> ranks_of(const Graph& g) {
  const bool in_order = std::any_of(g.nodes.begin(), g.nodes.end(), [](const GraphNode& n) { return n.writes; });
  std::vector<int32_t> of_value(g.values.size()), of_extent(g.extents.size()), ranks;
  int32_t so_far = 0;
  for (const GraphNode& n : g.nodes) {
    int32_t rank = in_order ? so_far : 0;
    for (ValueId v : n.in)
      if (v >= 0) rank = std::max(rank, of_value[size_t(v)]);
    for (const ExtentPatch& p : n.patches)
      for (const ExtentExpression::Term& t : p.value.terms())
        if (t.kind == ExtentExpression::Kind::extent) rank = std::max(rank, of_extent[size_t(t.a)]);
    ranks.push_back(rank);
    const int32_t after = rank + stands_alone(n);
    so_far = std::max(so_far, after);
    for (ValueId v : n.out) of_value[size_t(v)] = after;
    for (const UnknownAxis& u : g.unknown_axes)
      if (std::find(n.out.begin(), n.out.end(), u.value) != n.out.end()) of_extent[size_t(u.extent)] = after;
  }
  return ranks;
}

// The graph of some nodes: what they read from others are inputs, what others read are outputs.
Ref<Graph> part_of(const Graph& g, const std::vector<int32_t>& nodes, const std::vector<int32_t>& last_reader, int32_t rank) {
  auto part = make_ref<Graph>();
  part->values = g.values;
  part->extents = g.extents;
  std::vector<bool> known(g.values.size());
  for (int32_t i : nodes) {
    const GraphNode& n = g.nodes[size_t(i)];
    for (const auto* ids : {&n.in, &n.out})
      for (ValueId v : *ids) {
        if (v < 0 || known[size_t(v)]) continue;
        known[size_t(v)] = true;
        const auto constant = std::find_if(g.constants.begin(), g.constants.end(), [v](const auto& c) { return c.first == v; });
        if (constant != g.constants.end()) part->constants.push_back(*constant);
        else if (ids == &n.in || n.writes) part->inputs.push_back(v);
        else if (last_reader[size_t(v)] > rank) part->outputs.push_back(v);
      }
    part->nodes.push_back(n);
  }
  return part;
}

}  // namespace

std::vector<GraphStage> split(const Graph& g) {
  if (std::none_of(g.nodes.begin(), g.nodes.end(), stands_alone)) return {{-1, copy_of(g)}};
  const std::vector<int32_t> ranks = ranks_of(g);
  const int32_t ends = 1 + *std::max_element(ranks.begin(), ranks.end());
  // A part with rank r runs before the nodes of their own with rank r, which read what it made: they count as the rank after it.
  std::vector<int32_t> last_reader(g.values.size(), -1);
  for (size_t i = 0; i < g.nodes.size(); ++i)
    for (ValueId v : g.nodes[i].in)
      if (v >= 0) last_reader[size_t(v)] = std::max(last_reader[size_t(v)], ranks[i] + stands_alone(g.nodes[i]));
  for (ValueId v : g.outputs) last_reader[size_t(v)] = ends;
  for (const auto& [state, value] : g.updates) last_reader[size_t(state)] = last_reader[size_t(value)] = ends;
  std::vector<GraphStage> stages;
  for (int32_t rank = 0; rank < ends; ++rank) {
    std::vector<int32_t> together;
    for (size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i] == rank && !stands_alone(g.nodes[i])) together.push_back(int32_t(i));
    if (!together.empty()) stages.push_back({-1, part_of(g, together, last_reader, rank)});
    for (size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i] == rank && stands_alone(g.nodes[i])) stages.push_back({int32_t(i), {}});
  }
  return stages;
}

}  // namespace pyburn
