#include "pyburn/graph/graph_editor.h"

#include <algorithm>

#include "pyburn/graph/aliases.h"

namespace pyburn {

GraphEditor::GraphEditor(const Graph& g)
    : graph_(copy_of(g)),
      makers_(g.values.size(), -1),
      constants_(g.values.size(), -1),
      users_(g.values.size()),
      kept_(g.values.size()),
      written_(values_that_may_be_written(g)) {
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    const GraphNode& n = graph_->nodes[i];
    for (ValueId v : n.in)
      if (v >= 0) users_[size_t(v)].push_back(int32_t(i));
    for (ValueId v : n.out) {
      if (n.writes) users_[size_t(v)].push_back(int32_t(i));
      else makers_[size_t(v)] = int32_t(i);
    }
    nodes_.push_back({n, {}});
  }
  for (size_t i = 0; i < g.constants.size(); ++i) constants_[size_t(g.constants[i].first)] = int32_t(i);
  for (ValueId v : g.outputs) kept_[size_t(v)] = true;
  for (const auto& [state, value] : g.updates) kept_[size_t(state)] = kept_[size_t(value)] = true;
}

const TensorHandle* GraphEditor::constant(ValueId v) const {
  const int32_t i = v < 0 ? -1 : constants_[size_t(v)];
  return i < 0 ? nullptr : &graph_->constants[size_t(i)].second;
}

int32_t GraphEditor::only_user(ValueId v) const { return !is_kept(v) && users(v).size() == 1 ? users(v)[0] : -1; }

bool GraphEditor::gives_extent(const GraphNode& n) const {
  return std::any_of(graph_->unknown_axes.begin(), graph_->unknown_axes.end(),
      [&](const UnknownAxis& u) { return std::find(n.out.begin(), n.out.end(), u.value) != n.out.end(); });
}

ValueId GraphEditor::add_constant(TensorHandle t) {
  const ValueId v = graph_->add_value(t.meta());
  makers_.push_back(-1);
  constants_.push_back(int32_t(graph_->constants.size()));
  users_.emplace_back();
  kept_.push_back(false);
  written_.push_back(false);
  graph_->constants.emplace_back(v, std::move(t));
  graph_->constant_names.emplace_back();
  changed_ = true;
  return v;
}

ValueId GraphEditor::insert_before(int32_t i, Operation op, SmallVector<ValueId, 4> in, Meta result) {
  return insert_before(i, std::move(op), std::move(in), std::span<const Meta>(&result, 1));
}

ValueId GraphEditor::insert_before(int32_t i, Operation op, SmallVector<ValueId, 4> in, std::span<const Meta> results) {
  SmallVector<ValueId, 4> made;
  for (const Meta& m : results) {
    made.push_back(graph_->add_value(m));
    makers_.push_back(i);
    constants_.push_back(-1);
    users_.emplace_back();
    kept_.push_back(false);
    written_.push_back(false);
  }
  for (ValueId x : in)
    if (x >= 0) users_[size_t(x)].push_back(i);
  const ValueId first = made[0];
  nodes_[size_t(i)].before.push_back({std::move(op), std::move(in), std::move(made), false, {}});
  changed_ = true;
  return first;
}

void GraphEditor::remove_user(ValueId v, int32_t node) {
  std::vector<int32_t>& users = users_[size_t(v)];
  users.erase(std::find(users.begin(), users.end(), node));
}

void GraphEditor::set_inputs(int32_t i, SmallVector<ValueId, 4> in) {
  GraphNode& n = nodes_[size_t(i)].node;
  for (ValueId v : n.in)
    if (v >= 0) remove_user(v, i);
  for (ValueId v : in)
    if (v >= 0) users_[size_t(v)].push_back(i);
  n.in = std::move(in);
  changed_ = true;
}

void GraphEditor::set_operation(int32_t i, Operation op) {
  nodes_[size_t(i)].node.op = std::move(op);
  changed_ = true;
}

void GraphEditor::replace(ValueId from, ValueId to) {
  for (int32_t i : std::vector<int32_t>(std::move(users_[size_t(from)]))) {
    Entry& entry = nodes_[size_t(i)];
    const auto rename = [&](GraphNode& n) {
      for (ValueId& v : n.in)
        if (v == from) v = to;
    };
    rename(entry.node);
    for (GraphNode& n : entry.before) rename(n);
    users_[size_t(to)].push_back(i);
  }
  users_[size_t(from)].clear();
  for (ValueId& v : graph_->outputs)
    if (v == from) v = to;
  for (auto& [state, value] : graph_->updates)
    if (value == from) value = to;
  kept_[size_t(to)] = kept_[size_t(to)] || kept_[size_t(from)];
  kept_[size_t(from)] = false;
  changed_ = true;
}

void GraphEditor::erase(int32_t i) {
  Entry& entry = nodes_[size_t(i)];
  for (ValueId v : entry.node.in)
    if (v >= 0) remove_user(v, i);
  entry.erased = changed_ = true;
}

Ref<Graph> GraphEditor::finish() {
  graph_->nodes.clear();
  for (Entry& entry : nodes_) {
    for (GraphNode& n : entry.before) graph_->nodes.push_back(std::move(n));
    if (!entry.erased) graph_->nodes.push_back(std::move(entry.node));
  }
  check(*graph_);
  return std::move(graph_);
}

}  // namespace pyburn
