#include "pyburn/graph/replay.h"

#include "pyburn/graph/extents.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
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

Tensors Replay::run(std::span<const TensorHandle> inputs) {
  const Graph& g = *graph_;
  const Extents extents = extents_of(g, inputs);
  const TensorHandle absent;
  std::vector<TensorHandle> values(g.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    require<DeviceError>(&inputs[i].device() == &device_, "[Session] expected inputs on {}: got input {} on {}; move it to session.device",
        device_.name(), i, inputs[i].device().name());
    values[size_t(g.inputs[i])] = inputs[i];
  }
  for (size_t i = 0; i < constants_.size(); ++i) values[size_t(g.constants[i].first)] = constants_[i];
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const GraphNode& node = g.nodes[i];
    InputList in;
    for (ValueId v : node.in) in.add(v < 0 ? absent : values[size_t(v)]);
    Tensors out;
    for (ValueId v : node.out) out.push_back(node.writes ? values[size_t(v)] : TensorHandle());
    const Operation op = operation_at(node, {extents.data(), size_t(extents.size())}, in);
    dispatch(op.ref(), in, {out.data(), size_t(out.size())}, &device_);
    for (int64_t k = 0; k < out.size(); ++k) values[size_t(node.out[k])] = std::move(out[k]);
    for (ValueId v : dead_after_[i]) values[size_t(v)] = {};
  }
  for (const auto& [state, value] : g.updates) {
    InputList in;
    in.add(values[size_t(value)]);
    call_into(op::cast, CastTo{values[size_t(state)].dtype()}, in, values[size_t(state)]);
  }
  Tensors outputs;
  for (ValueId v : g.outputs) outputs.push_back(values[size_t(v)]);
  return outputs;
}

}  // namespace pyburn
