#include "pyburn/ir/graph.h"

#include "pyburn/support/format.h"

namespace pyburn {

uint64_t hash(const Graph& g) {
  uint64_t h = 0x84222325cbf29ce4u;
  auto mix = [&](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 31); };
  for (const Meta& m : g.values) {
    mix(uint64_t(m.dtype));
    for (int64_t d : m.shape) mix(uint64_t(d));
  }
  for (const GraphNode& n : g.nodes) {
    mix(hash(n.op.ref()));
    for (ValueId v : n.in) mix(uint64_t(v));
    for (ValueId v : n.out) mix(uint64_t(v));
    mix(n.writes);
  }
  for (ValueId v : g.inputs) mix(uint64_t(v));
  for (ValueId v : g.outputs) mix(uint64_t(v));
  return h;
}

bool operator==(const Graph& a, const Graph& b) {
  if (a.values != b.values || a.inputs != b.inputs || a.outputs != b.outputs || a.updates != b.updates ||
      a.nodes.size() != b.nodes.size() || a.constants.size() != b.constants.size())
    return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const GraphNode &m = a.nodes[i], &n = b.nodes[i];
    if (!(m.op == n.op) || !(m.in == n.in) || !(m.out == n.out) || m.writes != n.writes) return false;
  }
  for (size_t i = 0; i < a.constants.size(); ++i)
    if (a.constants[i].first != b.constants[i].first || !a.constants[i].second.is_same(b.constants[i].second)) return false;
  return true;
}

std::string to_text(const Graph& g) {
  auto list = [](const auto& ids) {
    std::string text;
    for (ValueId v : ids) text += (text.empty() ? "%" : ", %") + std::to_string(v);
    return text;
  };
  std::string text = "graph(" + list(g.inputs) + ")\n";
  for (const auto& [v, t] : g.constants) text += format("  %{} = constant {} {}\n", v, t.dtype(), t.shape());
  for (const GraphNode& n : g.nodes)
    text += format("  {} {} {} [{}]\n", list(n.out), n.writes ? "<-" : "=", to_text(n.op.ref()), list(n.in));
  return text + "  return " + list(g.outputs) + "\n";
}

}  // namespace pyburn
