#include <algorithm>

#include "pyburn/graph/passes.h"

namespace pyburn {

Ref<Graph> drop_dead_nodes(const Graph& g) {
  std::vector<bool> needed(g.values.size()), keep(g.nodes.size()), needed_extents(g.extents.size());
  const auto gives_needed_extent = [&](const GraphNode& n) {
    return std::any_of(g.unknown_axes.begin(), g.unknown_axes.end(), [&](const UnknownAxis& u) {
      return needed_extents[size_t(u.extent)] && std::find(n.out.begin(), n.out.end(), u.value) != n.out.end();
    });
  };
  for (ValueId v : g.outputs) needed[size_t(v)] = true;
  for (const auto& [state, value] : g.updates) needed[size_t(state)] = needed[size_t(value)] = true;
  for (size_t i = g.nodes.size(); i-- > 0;) {
    const GraphNode& n = g.nodes[i];
    keep[i] = n.writes || std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return needed[size_t(v)]; }) || gives_needed_extent(n);
    if (!keep[i]) continue;
    for (const ExtentPatch& p : n.patches)
      for (const ExtentExpression::Term& t : p.value.terms())
        if (t.kind == ExtentExpression::Kind::extent) needed_extents[size_t(t.a)] = true;
    for (ValueId v : n.in)
      if (v >= 0) needed[size_t(v)] = true;
    if (n.writes)
      for (ValueId v : n.out) needed[size_t(v)] = true;
  }
  Ref<Graph> result = copy_of(g);
  std::vector<bool> made(g.values.size());
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (keep[i])
      for (ValueId v : g.nodes[i].out) made[size_t(v)] = true;
  std::erase_if(result->unknown_axes, [&](const UnknownAxis& u) { return !made[size_t(u.value)]; });
  size_t at = 0;
  std::erase_if(result->nodes, [&](const GraphNode&) { return !keep[at++]; });
  result->constants.clear();
  result->constant_names.clear();
  for (size_t i = 0; i < g.constants.size(); ++i) {
    if (!needed[size_t(g.constants[i].first)]) continue;
    result->constants.push_back(g.constants[i]);
    result->constant_names.push_back(i < g.constant_names.size() ? g.constant_names[i] : "");
  }
  return result;
}

}  // namespace pyburn
