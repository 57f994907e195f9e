#include "pyburn/graph/replay.h"

#include "pyburn/runtime/graph_run.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {

std::vector<SmallVector<ValueId, 4>> last_uses(const Graph& g) {
  constexpr int64_t kNever = -1, kKept = -2;
  std::vector<int64_t> last(g.values.size(), kNever);
  for (size_t i = 0; i < g.nodes.size(); ++i)
    for (const auto* ids : {&g.nodes[i].in, &g.nodes[i].out})
      for (ValueId v : *ids)
        if (v >= 0) last[size_t(v)] = int64_t(i);
  for (ValueId v : g.outputs) last[size_t(v)] = kKept;
  for (const auto& [state, value] : g.updates) last[size_t(state)] = last[size_t(value)] = kKept;
  std::vector<SmallVector<ValueId, 4>> dead(g.nodes.size());
  for (size_t v = 0; v < last.size(); ++v)
    if (last[v] >= 0) dead[size_t(last[v])].push_back(ValueId(v));
  return dead;
}

Replay::Replay(Ref<Graph> graph, Device& device) : graph_(std::move(graph)), device_(device) {
  check(*graph_);
  for (const auto& [id, t] : graph_->constants) constants_.push_back(moved_to(device, t));
  dead_after_ = last_uses(*graph_);
}

Tensors Replay::run(std::span<const TensorHandle> inputs, std::span<const TensorHandle> constants) {
  const Graph& g = *graph_;
  InputList list;
  list.add(inputs);
  GraphRun run(g, extents_of(g, list), &device_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    require<DeviceError>(&inputs[i].device() == &device_, "[Session] expected inputs on {}: got input {} on {}; move it to session.device",
        device_.name(), i, inputs[i].device().name());
    run.set(g.inputs[i], inputs[i]);
  }
  for (size_t i = 0; i < constants_.size(); ++i) run.set(g.constants[i].first, constants.empty() ? constants_[i] : constants[i]);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    run.run(g.nodes[i]);
    for (ValueId v : dead_after_[i]) run.set(v, {});
  }
  run.run_updates();
  return run.outputs();
}

}  // namespace pyburn
