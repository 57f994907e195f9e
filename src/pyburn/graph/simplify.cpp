#include "pyburn/graph/simplify.h"

#include <algorithm>
#include <numeric>

#include "pyburn/runtime/run.h"

namespace pyburn {
namespace {

Ref<Graph> copy_of(const Graph& g) {
  auto c = make_ref<Graph>();
  c->values = g.values;
  c->inputs = g.inputs;
  c->outputs = g.outputs;
  c->input_names = g.input_names;
  c->output_names = g.output_names;
  c->constants = g.constants;
  c->constant_names = g.constant_names;
  c->constant_names.resize(g.constants.size());
  c->nodes = g.nodes;
  c->updates = g.updates;
  c->free_axes = g.free_axes;
  c->patches = g.patches;
  return c;
}

// Keeps the nodes that `keep` names and renumbers the patches.
void retain_nodes(Graph& g, const std::vector<bool>& keep) {
  std::vector<int32_t> moved(g.nodes.size(), -1);
  std::vector<GraphNode> nodes;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    if (!keep[i]) continue;
    moved[i] = int32_t(nodes.size());
    nodes.push_back(std::move(g.nodes[i]));
  }
  g.nodes = std::move(nodes);
  std::erase_if(g.patches, [&](const ExtentPatch& p) { return moved[size_t(p.node)] < 0; });
  for (ExtentPatch& p : g.patches) p.node = moved[size_t(p.node)];
}

int64_t bytes_of(const Meta& m) { return pyburn::bytes_of(m.dtype, m.shape.numel()); }

// Values that may share memory with something the graph writes to. A view shares with its input; so may the result of
// an operation that decomposes (reshape).
std::vector<bool> may_be_written(const Graph& g) {
  std::vector<ValueId> root(g.values.size());
  std::iota(root.begin(), root.end(), 0);
  auto find = [&](ValueId v) {
    while (root[size_t(v)] != v) v = root[size_t(v)] = root[size_t(root[size_t(v)])];
    return v;
  };
  for (const GraphNode& n : g.nodes) {
    if (n.op.info().kind != Kind::view && !n.op.info().decompose) continue;
    for (ValueId in : n.in)
      for (ValueId out : n.out)
        if (in >= 0) root[size_t(find(out))] = find(in);
  }
  std::vector<bool> roots(g.values.size()), written(g.values.size());
  for (const GraphNode& n : g.nodes)
    if (n.writes)
      for (ValueId v : n.out) roots[size_t(find(v))] = true;
  for (const auto& [state, value] : g.updates) roots[size_t(find(state))] = true;
  for (size_t v = 0; v < written.size(); ++v) written[v] = roots[size_t(find(ValueId(v)))];
  return written;
}

}  // namespace

Ref<Graph> fold_constants(const Graph& g) {
  Ref<Graph> result = copy_of(g);
  const std::vector<bool> written = may_be_written(g);
  std::vector<TensorHandle> known(g.values.size());
  for (const auto& [v, t] : g.constants)
    if (!written[size_t(v)]) known[size_t(v)] = t;
  std::vector<bool> keep(g.nodes.size(), true), patched(g.nodes.size());
  for (const ExtentPatch& p : g.patches) patched[size_t(p.node)] = true;

  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const GraphNode& n = g.nodes[i];
    const Kind kind = n.op.info().kind;
    if (patched[i] || n.writes || n.in.empty() || n.out.size() != 1 || kind == Kind::random || kind == Kind::dynamic) continue;
    const bool ready = std::all_of(n.in.begin(), n.in.end(), [&](ValueId v) { return v < 0 || known[size_t(v)].defined(); });
    if (!ready || written[size_t(n.out[0])]) continue;
    int64_t given = 0;  // bytes
    InputList in;
    const TensorHandle absent;
    for (ValueId v : n.in) {
      if (v >= 0) given += bytes_of(g.values[size_t(v)]);
      in.add(v < 0 ? absent : known[size_t(v)]);
    }
    // A view costs nothing at run time and may be larger than its constant: it is computed, but stays a node. What grows stays as it is:
    // quantised weights would become floats.
    if (kind != Kind::view && bytes_of(g.values[size_t(n.out[0])]) > given) continue;
    TensorHandle out;
    dispatch(n.op.ref(), in, {&out, 1});
    known[size_t(n.out[0])] = out;
    if (kind == Kind::view) continue;
    keep[i] = false;
    result->constants.emplace_back(n.out[0], out);
    result->constant_names.emplace_back();
  }
  retain_nodes(*result, keep);
  return result;
}

Ref<Graph> drop_dead_nodes(const Graph& g) {
  Ref<Graph> result = copy_of(g);
  std::vector<bool> needed(g.values.size()), keep(g.nodes.size());
  for (ValueId v : g.outputs) needed[size_t(v)] = true;
  for (const auto& [state, value] : g.updates) needed[size_t(state)] = needed[size_t(value)] = true;
  for (size_t i = g.nodes.size(); i-- > 0;) {
    const GraphNode& n = g.nodes[i];
    keep[i] = n.writes || std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return needed[size_t(v)]; });
    if (!keep[i]) continue;
    for (ValueId v : n.in)
      if (v >= 0) needed[size_t(v)] = true;
    if (n.writes)
      for (ValueId v : n.out) needed[size_t(v)] = true;
  }
  retain_nodes(*result, keep);
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
