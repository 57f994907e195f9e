#include "pyburn/inference/compiled_step.h"

#include <algorithm>

#include "pyburn/decorators/autodiff/autodiff.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/graph/aliases.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ir/random_state.h"
#include "pyburn/runtime/allocator.h"
#include "pyburn/runtime/run.h"

namespace pyburn {
namespace {

Backend& leaf_of(Device& device) {
  Backend* backend = &device.backend();
  if (auto* autodiff = dynamic_cast<Autodiff*>(backend)) backend = autodiff->inner();
  require<CaptureError>(!backend->inner(), "the device {} has decorators, which prepare no programs", device.name());
  return *backend;
}

// Those that compute the same numbers bit for bit; the passes of sessions that approximate are left out.
Ref<Graph> simplified(const Graph& g) {
  Ref<Graph> result = values_for_writes(g);
  for (const auto pass : {fold_constants, merge_equal_nodes, drop_dead_nodes}) result = pass(*result);
  return result;
}

// as_strided() names places of the storage; those of an argument may lie elsewhere in the next call.
void refuse_places_of_arguments(const Graph& g, const std::vector<Layout>& layouts) {
  const std::vector<ValueId> group = alias_groups(g);
  for (const GraphNode& n : g.nodes) {
    if (n.op.info().kind != Kind::view) continue;
    const bool of_argument = std::any_of(g.inputs.begin(), g.inputs.begin() + int64_t(layouts.size()),
        [&](ValueId v) { return group[size_t(v)] == group[size_t(n.in[0])]; });
    if (!of_argument) continue;
    Layout plain = contiguous_layout(g.values[size_t(n.in[0])].shape);
    const auto offset = [&] { return n.op.info().view(n.op.ref(), plain).offset; };
    const int64_t before = offset();
    ++plain.offset;
    require<CaptureError>(offset() == before + 1, "{} names places in the storage of an argument", n.op.info().function());
  }
}

}  // namespace

CompiledStep::CompiledStep(Ref<RecordedStep> recorded, const RecordedStep& again) : step_(std::move(recorded)) {
  const RecordedStep& step = *step_;
  Backend& leaf = leaf_of(*step.device);
  Ref<Graph> g = copy_of(*step.graph);
  const std::vector<bool> written = values_that_may_be_written(*g);
  for (ValueId v : g->inputs) require<CaptureError>(!written[size_t(v)], "it writes to an argument");
  refuse_places_of_arguments(*g, step.inputs);
  // State that is only read enters as inputs: other code may change it between two runs, so that nothing is computed from it in advance.
  std::vector<std::pair<ValueId, TensorHandle>> constants;
  const auto is_fixed = [&](size_t i) { return step.state[i].gradient_of < 0 && step.state[i].storage != again.state[i].storage; };
  for (size_t i = 0; i < g->constants.size(); ++i) {
    const ValueId v = g->constants[i].first;
    if (written[size_t(v)] || is_fixed(i)) {
      require<CaptureError>(!written[size_t(v)] || !is_fixed(i), "it writes to a tensor that each call creates");
      constants.push_back(g->constants[i]);
      continue;
    }
    inputs_.push_back(int32_t(i));
    g->inputs.push_back(v);
    g->input_names.push_back("state" + std::to_string(i));
  }
  g->constants = std::move(constants);
  g->constant_names.assign(g->constants.size(), "");
  {
    const LevelScope level(leaf);
    g = simplified(*g);
  }
  std::vector<Layout> layouts = step.inputs;
  for (int32_t i : inputs_) layouts.push_back(step.state[size_t(i)].layout);
  const std::vector<bool> may_be_written = values_that_may_be_written(*g);
  for (const auto& [v, t] : g->constants) {
    int32_t from = -1;
    for (size_t i = 0; i < step.state.size(); ++i)
      if (may_be_written[size_t(v)] && step.graph->constants[i].first == v) from = int32_t(i);
    constants_.push_back(from);
    values_.push_back(t);
  }
  std::optional<LoweredProgram> lowered = lower(*g, {}, layouts, values_, *step.device, leaf);
  require<CaptureError>(lowered.has_value(), "it depends on values");
  require_bound(*lowered);
  program_ = std::make_unique<PreparedProgram>(std::move(*lowered), *step.device, leaf, PreparedProgram::Pages::huge);
  find_run_time_nodes(*g);
  if (leaf.capabilities().host_memory) empty_host_cache();  // what Python needed so far; the program has memory of its own
  program_->prepare_context();
}

// Only what the lowered program writes to is looked up in each run.
void CompiledStep::require_bound(const LoweredProgram& lowered) const {
  std::vector<bool> bound(constants_.size());
  for (const LoweredSlot& slot : lowered.slots)
    if (slot.role == LoweredSlot::Role::state && lowered.of_graph[size_t(slot.index)] >= 0)
      bound[size_t(lowered.of_graph[size_t(slot.index)])] = true;
  for (size_t i = 0; i < bound.size(); ++i)
    require<CaptureError>(
        bound[i] || constants_[i] < 0, "it uses a tensor of shape {} in a way that hides writes to it", values_[i].shape());
}

// Random streams and the numbers of the optimiser are set before each run: their nodes must have come through all passes.
void CompiledStep::find_run_time_nodes(const Graph& optimised) {
  const auto draw_of = [&](OpRef op, size_t node) -> std::optional<Draw> {
    const std::optional<SeedAndOffset> state = random_state_of(op);
    if (!state) return {};
    for (size_t i = 0; i < step_->draws.size(); ++i) {
      const StepDraws& d = step_->draws[i];
      const uint64_t from = uint64_t(state->offset) - d.start.offset;
      if (uint64_t(state->seed) == d.start.seed && from < d.counters) return Draw{node, i, from};
    }
    return {};
  };
  size_t wanted = 0, updates = 0;
  for (const GraphNode& n : optimised.nodes) {
    wanted += draw_of(n.op.ref(), 0).has_value();
    updates += n.op.info().kind == Kind::update;
  }
  const std::vector<LoweredNode>& nodes = program_->program().nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (const auto draw = draw_of(nodes[i].op.ref(), i)) draws_.push_back(*draw);
    if (nodes[i].op.info().kind == Kind::update) updates_.push_back(i);
  }
  require<CaptureError>(draws_.size() == wanted, "the device decomposes an operation that draws random numbers");
  require<CaptureError>(updates_.size() == updates, "the device decomposes the step of an optimiser");
}

TensorHandle CompiledStep::present(const StepState& s) const {
  return s.gradient_of < 0 ? s.tensor : autograd::grad_of(step_->leaves[size_t(s.gradient_of)].leaf);
}

bool CompiledStep::fits(std::span<const TensorHandle> inputs) const {
  if (!(step_->modes == StepModes::now())) return false;
  for (const StepLeaf& l : step_->leaves)
    if (autograd::grad_of(l.leaf).defined() != l.had_gradient || has_hooks(l.leaf)) return false;
  for (size_t i = 0; i < step_->state.size(); ++i) {
    const StepState& s = step_->state[i];
    const TensorHandle now = present(s);
    if (!now.defined() || now.dtype() != s.tensor.dtype() || now.requires_grad() != s.requires_grad || !(now.layout() == s.layout))
      return false;
    if (s.gradient_of < 0 && now.storage() != s.storage.get()) return false;
    for (const TensorHandle& t : inputs)
      if (t.storage() == now.storage()) return false;
  }
  return true;
}

void CompiledStep::draw() {
  std::vector<RandomState> starts;
  for (const StepDraws& d : step_->draws) {
    Generator& generator = d.generator ? *d.generator : default_generator();
    starts.push_back(generator.reserve(int64_t(4 * d.counters)));
  }
  for (const Draw& d : draws_) {
    const RandomState& start = starts[d.from];
    const Operation& op = program_->program().nodes[d.node].op;
    program_->set_operation(d.node, with_random_state(op, {int64_t(start.seed), int64_t(start.offset + d.counter)}));
  }
}

Tensors CompiledStep::run(std::span<const TensorHandle> inputs, std::span<const Operation> optimizer_steps) {
  const std::lock_guard lock(mutex_);
  require<ValueError>(optimizer_steps.size() == updates_.size(), "[compile] wrong number of optimizer steps: got {}, expected {}",
      int64_t(optimizer_steps.size()), int64_t(updates_.size()));
  std::vector<TensorHandle> constants = values_;
  for (size_t i = 0; i < constants.size(); ++i)
    if (constants_[i] >= 0) constants[i] = present(step_->state[size_t(constants_[i])]);
  for (size_t i = 0; i < updates_.size(); ++i) program_->set_operation(updates_[i], optimizer_steps[i]);
  draw();
  std::vector<TensorHandle> given(inputs.begin(), inputs.end());
  for (int32_t i : inputs_) given.push_back(present(step_->state[size_t(i)]));
  for (const StepLeaf& l : step_->leaves)
    if (l.after != StepLeaf::After::kept) autograd::set_grad(l.leaf, {});
  Tensors outputs = program_->run(given, constants);
  for (size_t i = 0; i < constants.size(); ++i)
    if (constants_[i] >= 0) constants[i].storage()->bump_version();
  int64_t next = step_->results;
  for (const StepLeaf& l : step_->leaves)
    if (l.after == StepLeaf::After::made) autograd::set_grad(l.leaf, outputs[next++]);
  outputs.resize(step_->results);
  return outputs;
}

}  // namespace pyburn
