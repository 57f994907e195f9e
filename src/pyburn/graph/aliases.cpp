#include "pyburn/graph/aliases.h"

#include <numeric>

namespace pyburn {

std::vector<ValueId> alias_groups(const Graph& g) {
  std::vector<ValueId> root(g.values.size());
  std::iota(root.begin(), root.end(), 0);
  auto find = [&](ValueId v) {
    while (root[size_t(v)] != v) v = root[size_t(v)] = root[size_t(root[size_t(v)])];
    return v;
  };
  for (const GraphNode& n : g.nodes) {
    if (n.op.info().kind != Kind::view && !n.op.info().may_alias) continue;
    for (ValueId in : n.in)
      for (ValueId out : n.out)
        if (in >= 0) root[size_t(find(out))] = find(in);
  }
  for (size_t v = 0; v < root.size(); ++v) root[v] = find(ValueId(v));
  return root;
}

std::vector<bool> values_that_may_be_written(const Graph& g) {
  const std::vector<ValueId> group = alias_groups(g);
  std::vector<bool> written_groups(g.values.size()), written(g.values.size());
  for (const GraphNode& n : g.nodes)
    if (n.writes)
      for (ValueId v : n.out) written_groups[size_t(group[size_t(v)])] = true;
  for (const auto& [state, value] : g.updates) written_groups[size_t(group[size_t(state)])] = true;
  for (size_t v = 0; v < written.size(); ++v) written[v] = written_groups[size_t(group[v])];
  return written;
}

}  // namespace pyburn
