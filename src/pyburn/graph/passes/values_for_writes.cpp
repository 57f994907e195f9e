#include <algorithm>

#include "pyburn/graph/aliases.h"
#include "pyburn/graph/passes.h"

namespace pyburn {
namespace {

// Values that the graph makes and that share memory with no other: a write to one of them is a new value.
std::vector<bool> values_of_their_own(const Graph& g) {
  const std::vector<ValueId> group = alias_groups(g);
  std::vector<int32_t> members(g.values.size());
  for (ValueId root : group) ++members[size_t(root)];
  std::vector<bool> own(g.values.size());
  for (const GraphNode& n : g.nodes)
    if (!n.writes)
      for (ValueId v : n.out) own[size_t(v)] = members[size_t(group[size_t(v)])] == 1;
  for (const auto& [state, value] : g.updates) own[size_t(state)] = false;
  return own;
}

}  // namespace

Ref<Graph> values_for_writes(const Graph& g) {
  Ref<Graph> result = copy_of(g);
  const std::vector<bool> own = values_of_their_own(g);
  std::vector<ValueId> now(g.values.size());  // the value that each place holds at the node
  for (size_t v = 0; v < now.size(); ++v) now[v] = ValueId(v);
  const auto rename = [&](ValueId& v) {
    if (v >= 0) v = now[size_t(v)];
  };
  for (GraphNode& n : result->nodes) {
    std::for_each(n.in.begin(), n.in.end(), rename);
    if (!n.writes) continue;
    const bool computes_anew = n.op.info().infer && n.op.info().kind != Kind::update;
    if (!computes_anew || !std::all_of(n.out.begin(), n.out.end(), [&](ValueId v) { return own[size_t(v)]; })) continue;
    for (ValueId& v : n.out) {
      const ValueId fresh = result->add_value(g.values[size_t(v)]);
      now[size_t(v)] = fresh;
      v = fresh;
    }
    n.writes = false;
  }
  std::for_each(result->outputs.begin(), result->outputs.end(), rename);
  for (auto& [state, value] : result->updates) rename(value);
  return result;
}

}  // namespace pyburn
