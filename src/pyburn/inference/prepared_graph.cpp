#include "pyburn/inference/prepared_graph.h"

#include <algorithm>

#include "pyburn/graph/passes.h"
#include "pyburn/ops/control_flow.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

using Key = RecentValues<PreparedProgram>::Key;

Key key_of(std::span<const int64_t> extents, Inputs in) {
  Key key;
  key.append(extents.data(), extents.data() + extents.size());
  for (const TensorHandle* t : in) {
    if (!t->defined()) continue;
    key.push_back(t->rank());
    for (int64_t d : t->shape()) key.push_back(d);
  }
  return key;
}

TensorHandle copied(const TensorHandle& t) {
  InputList in;
  in.add(t);
  return call(op::cast, CastTo{t.dtype()}, in);
}

std::vector<Shape> shapes_of(Inputs in) {
  std::vector<Shape> shapes;
  for (const TensorHandle* t : in) shapes.push_back(t->shape());
  return shapes;
}

bool is_control_flow(const OpInfo& op) { return &op == &op::cond || &op == &op::while_loop || &op == &op::scan; }

}  // namespace

// The graphs inside a node, for one set of sizes.
struct PreparedGraph::Inside {
  Operation op;
  std::vector<std::pair<Ref<Graph>, std::unique_ptr<PreparedGraph>>> graphs;

  Tensors run(const Graph& g, Inputs inputs, StepWatcher* watcher) const {
    extents_of(g, inputs);  // they fit
    const auto known = std::find_if(graphs.begin(), graphs.end(), [&](const auto& entry) { return entry.first.get() == &g; });
    return known->second->run(inputs, {}, watcher);
  }
};

struct PreparedGraph::Stage {
  int32_t node;
  Ref<Graph> part;
  bool is_prepared;  // false: writes to what other stages hold, so that copies of inputs would be seen
  bool is_patient;   // sizes that follow from values may not come again: programs are prepared for those that do
  RecentValues<PreparedProgram> programs;
  RecentValues<int> met;  // sizes that came once
  RecentValues<Inside> insides;
};

PreparedGraph::PreparedGraph(Ref<Graph> graph, Device& device, Backend& leaf, bool is_inside)
    : graph_(std::move(graph)), device_(device), leaf_(leaf) {
  std::vector<GraphStage> stages = split(*graph_);
  const bool writes = std::any_of(graph_->nodes.begin(), graph_->nodes.end(), [](const GraphNode& n) { return n.writes; });
  for (GraphStage& s : stages) {
    auto& stage = stages_.emplace_back(std::make_unique<Stage>());
    stage->node = s.node;
    stage->part = std::move(s.part);
    stage->is_patient = is_inside ? !graph_->extents.empty() : !graph_->unknown_axes.empty();
    stage->is_prepared = stages.size() == 1 || (!writes && graph_->updates.empty());
  }
}

PreparedGraph::~PreparedGraph() = default;

std::shared_ptr<PreparedProgram> PreparedGraph::prepare(
    Stage& stage, const Key& key, std::span<const int64_t> extents, std::span<const Shape> inputs) {
  bool is_new = false;
  if (stage.is_patient) stage.met.find(key, [&]() -> std::shared_ptr<int> { return is_new = true, nullptr; });
  if (is_new) return nullptr;
  return stage.programs.find(key, [&]() -> std::shared_ptr<PreparedProgram> {
    std::vector<TensorHandle> constants;
    for (const auto& [v, t] : stage.part->constants) constants.push_back(t);
    std::vector<Layout> layouts;
    for (const Shape& shape : inputs) layouts.push_back(contiguous_layout(shape));
    std::optional<LoweredProgram> program = lower(*stage.part, extents, layouts, constants, device_, leaf_);
    return program ? std::make_shared<PreparedProgram>(std::move(*program), device_, leaf_) : nullptr;
  });
}

std::shared_ptr<PreparedProgram> PreparedGraph::whole(Inputs inputs) {
  if (stages_.size() != 1 || !stages_[0]->part) return nullptr;
  const Extents extents = extents_of(*graph_, inputs);
  const std::span<const int64_t> sizes(extents.data(), size_t(extents.size()));
  return prepare(*stages_[0], key_of(sizes, {}), sizes, shapes_of(inputs));  // the graph says all other sizes
}

// What fails here is raised by the first run.
void PreparedGraph::prepare_now() {
  if (stages_.size() != 1 || !stages_[0]->part || !graph_->extents.empty()) return;
  std::vector<Shape> shapes;
  for (ValueId v : graph_->inputs) shapes.push_back(graph_->values[size_t(v)].shape);
  try {
    if (const auto program = prepare(*stages_[0], {}, {}, shapes)) program->prepare_context();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
  }
}

void PreparedGraph::run_part(Stage& stage, GraphRun& run, std::span<const TensorHandle> constants, StepWatcher* watcher) {
  InputList in;
  Tensors given;
  for (ValueId v : stage.part->inputs) in.add(run[v]), given.push_back(run[v]);
  const auto program = stage.is_prepared ? prepare(stage, key_of(run.extents(), in), run.extents(), shapes_of(in)) : nullptr;
  if (!program) {
    for (const GraphNode& n : stage.part->nodes) run_node(n, run, watcher);
    if (stages_.size() == 1) run.run_updates();
    return;
  }
  Tensors results =
      program->run({given.data(), size_t(given.size())}, stages_.size() == 1 ? constants : std::span<const TensorHandle>(), watcher);
  for (size_t k = 0; k < stage.part->outputs.size(); ++k) run.set(stage.part->outputs[k], std::move(results[int64_t(k)]));
}

void PreparedGraph::run_node(const GraphNode& node, GraphRun& run, StepWatcher* watcher) {
  const int64_t start = watcher ? steady_nanoseconds() : 0;
  run.run(node);
  if (watcher) watcher->step(node, node.out.empty() ? Shape{} : run[node.out[0]].shape(), start, steady_nanoseconds());
}

// The steps of the graphs inside are those of the node.
void PreparedGraph::run_alone(Stage& stage, GraphRun& run, StepWatcher* watcher) {
  const GraphNode& node = graph_->nodes[size_t(stage.node)];
  if (!is_control_flow(node.op.info())) return run_node(node, run, watcher);
  InputList in;
  for (ValueId v : node.in) in.add(run[v]);
  const Key key = node.patches.empty() ? Key{} : key_of(run.extents(), in);
  const std::shared_ptr<Inside> inside = stage.insides.find(key, [&] {
    auto fresh = std::make_shared<Inside>();
    fresh->op = run.operation(node);
    for (const Ref<Graph>& g : sub_graphs(fresh->op.ref()))
      fresh->graphs.emplace_back(g, std::make_unique<PreparedGraph>(optimise(*g), device_, leaf_, true));
    return fresh;
  });
  run.set_results(node, naming(node.op.info(), [&] {
    return run_control_flow(inside->op.ref(), in, [&](const Graph& g, Inputs given) { return inside->run(g, given, watcher); });
  }));
}

Tensors PreparedGraph::run(Inputs inputs, std::span<const TensorHandle> constants, StepWatcher* watcher) {
  GraphRun run(*graph_, extents_of(*graph_, inputs), &device_);
  for (size_t i = 0; i < inputs.size(); ++i) run.set(graph_->inputs[i], *inputs[i]);
  for (size_t i = 0; i < graph_->constants.size(); ++i)
    run.set(graph_->constants[i].first, constants.empty() ? graph_->constants[i].second : constants[i]);
  const LevelScope scope(leaf_);
  for (const std::unique_ptr<Stage>& stage : stages_)
    stage->part ? run_part(*stage, run, constants, watcher) : run_alone(*stage, run, watcher);
  if (stages_.size() > 1) run.run_updates();
  Tensors outputs = run.outputs();
  for (TensorHandle& out : outputs)  // what is given out must not change with the state
    for (size_t i = 0; i < graph_->constants.size(); ++i)
      if (run[graph_->constants[i].first].storage() == out.storage()) out = copied(out);
  return outputs;
}

}  // namespace pyburn
