#include <algorithm>
#include <unordered_map>

#include "pyburn/graph/graph_editor.h"
#include "pyburn/graph/passes.h"

namespace pyburn {
namespace {

bool can_merge(const GraphEditor& editor, const GraphNode& n) {
  if (n.writes || n.in.empty() || draws_random_numbers(n.op.ref()) || editor.gives_extent(n)) return false;
  for (const auto* ids : {&n.in, &n.out})
    for (ValueId v : *ids)
      if (v >= 0 && editor.may_be_written(v)) return false;
  // Results that are given out must not share memory.
  return std::none_of(n.out.begin(), n.out.end(), [&](ValueId v) { return editor.is_kept(v); });
}

}  // namespace

Ref<Graph> merge_equal_nodes(const Graph& g) {
  GraphEditor editor(g);
  std::unordered_multimap<uint64_t, int32_t> seen;
  for (int32_t i = 0; i < editor.nodes(); ++i) {
    const GraphNode& n = editor.node(i);
    if (!can_merge(editor, n)) continue;
    uint64_t key = hash(n.op.ref());
    for (ValueId v : n.in) key = (key ^ uint64_t(v)) * 0x9e3779b97f4a7c15u;
    const auto [first, last] = seen.equal_range(key);
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      const GraphNode& other = editor.node(entry.second);
      return other.op == n.op && other.in == n.in && other.patches == n.patches && other.out.size() == n.out.size();
    });
    if (same == last) {
      seen.emplace(key, i);
      continue;
    }
    const GraphNode& kept = editor.node(same->second);
    for (int64_t k = 0; k < n.out.size(); ++k) editor.replace(n.out[k], kept.out[k]);
    editor.erase(i);
  }
  return editor.finish();
}

}  // namespace pyburn
