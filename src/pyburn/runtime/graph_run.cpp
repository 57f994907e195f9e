#include "pyburn/runtime/graph_run.h"

#include <algorithm>

#include "pyburn/ir/integer_slots.h"
#include "pyburn/runtime/door_ops.h"

namespace pyburn {

Operation operation_at(const GraphNode& node, std::span<const int64_t> extents, Inputs in) {
  if (node.patches.empty()) return node.op;
  SmallVector<const Shape*, 4> shapes;
  for (const TensorHandle* t : in) shapes.push_back(t->defined() ? &t->shape() : nullptr);
  Slots slots = integer_slots(node.op.ref());
  for (const ExtentPatch& p : node.patches) {
    require<FormatError>(p.slot < slots.size(), "[graph] patch out of range: got slot {} of {}", p.slot, to_text(node.op.ref()));
    slots[p.slot] = p.value.evaluate(extents, {shapes.data(), size_t(shapes.size())});
  }
  return with_integer_slots(node.op, slots);
}

Extents extents_of(const Graph& g, Inputs inputs) {
  require<ValueError>(inputs.size() == g.inputs.size(), "[graph] wrong number of inputs: got {}, expected {}", int64_t(inputs.size()),
      int64_t(g.inputs.size()));
  Extents extents(int64_t(g.extents.size()), -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    require<ValueError>(inputs[i]->defined(), "[graph] input {} is missing", int64_t(i));
    const TensorHandle& x = *inputs[i];
    const Meta& expected = g.values[size_t(g.inputs[i])];
    require<DTypeError>(
        x.dtype() == expected.dtype, "[graph] input {} has another dtype: got {}, expected {}", int64_t(i), x.dtype(), expected.dtype);
    Shape wanted = expected.shape;
    if (x.rank() == wanted.rank())
      for (const FreeAxis& f : g.free_axes) {
        if (size_t(f.input) != i) continue;
        int64_t& n = extents[f.extent];
        if (n < 0) n = x.shape()[f.axis];
        wanted[f.axis] = n;
      }
    require(x.shape() == wanted, "[graph] input {} does not fit: got {}, expected {}", int64_t(i), x.shape(), wanted);
  }
  return extents;
}

Extents captured_extents(const Graph& g) {
  Extents extents(int64_t(g.extents.size()), -1);
  for (const FreeAxis& f : g.free_axes) extents[f.extent] = g.values[size_t(g.inputs[size_t(f.input)])].shape[f.axis];
  for (const UnknownAxis& u : g.unknown_axes) extents[u.extent] = g.values[size_t(u.value)].shape[u.axis];
  return extents;
}

GraphRun::GraphRun(const Graph& g, Extents extents, Device* device)
    : graph_(g), device_(device), extents_(std::move(extents)), values_(g.values.size()) {}

InputList GraphRun::inputs_of(const GraphNode& node) const {
  static const TensorHandle absent;
  InputList in;
  for (ValueId v : node.in) in.add(v < 0 ? absent : values_[size_t(v)]);
  return in;
}

void GraphRun::run(const GraphNode& node) {
  if (node.patches.empty()) run(node, node.op);
  else run(node, operation(node));
}

void GraphRun::run(const GraphNode& node, const Operation& op) {
  Tensors out;
  for (ValueId v : node.out) out.push_back(node.writes ? values_[size_t(v)] : TensorHandle());
  dispatch(op.ref(), inputs_of(node), {out.data(), size_t(out.size())}, device_);
  set_results(node, std::move(out));
}

void GraphRun::set_results(const GraphNode& node, Tensors results) {
  for (int64_t k = 0; k < results.size(); ++k) values_[size_t(node.out[k])] = std::move(results[k]);
  for (const UnknownAxis& u : graph_.unknown_axes) {
    if (std::find(node.out.begin(), node.out.end(), u.value) == node.out.end()) continue;
    const TensorHandle& made = values_[size_t(u.value)];
    require(u.axis < made.rank(), "[graph] a result has another rank than at the capture: got {}", made.shape());
    extents_[u.extent] = made.shape()[u.axis];
  }
}

void GraphRun::run_updates() {
  Tensors fresh;  // all are read before any is written
  for (const auto& [state, value] : graph_.updates) {
    (void)state;
    fresh.push_back(values_[size_t(value)]);
  }
  for (size_t k = 0; k < graph_.updates.size(); ++k) {
    const TensorHandle& state = values_[size_t(graph_.updates[k].first)];
    InputList in;
    in.add(fresh[int64_t(k)]);
    call_into(op::cast, CastTo{state.dtype()}, in, state);
  }
}

Tensors GraphRun::outputs() const {
  Tensors outputs;
  for (ValueId v : graph_.outputs) outputs.push_back(values_[size_t(v)]);
  return outputs;
}

Tensors run_graph(const Graph& g, Inputs inputs) {
  GraphRun run(g, extents_of(g, inputs));
  for (size_t i = 0; i < inputs.size(); ++i) run.set(g.inputs[i], *inputs[i]);
  for (const GraphNode& node : g.nodes) run.run(node);
  return run.outputs();
}

}  // namespace pyburn
