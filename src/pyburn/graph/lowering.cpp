#include "pyburn/graph/lowering.h"

#include <unordered_map>

#include "pyburn/graph/extents.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Decomposes what the real backend decomposes; what that one would execute becomes a node.
class LoweringBackend final : public Backend {
 public:
  LoweringBackend(Backend& like, Device& device) : like_(&like), device_(device) {}

  void execute(OpRef op, Inputs in, Outputs out) override {
    if (op.info->kind == Kind::dynamic) {
      depends_on_values = true;
      fail<CaptureError>("the size of the result depends on values");
    }
    LoweredNode node{Operation(op), {}, {}};
    for (const TensorHandle* t : in) node.in.push_back(t->defined() ? operand(*t) : LoweredOperand{});
    for (const TensorHandle& t : out) node.out.push_back(operand(t));
    program.nodes.push_back(std::move(node));
  }
  KernelSupport support(const OpInfo& op, DType key) const override {
    const KernelSupport there = like_->known_support(op, key);
    return there == KernelSupport::by_row ? KernelSupport::native : there;
  }
  bool supports_call(OpRef op, Inputs in, Outputs out) const override { return like_->supports(op, in, out); }
  Capabilities capabilities() const override { return {.values = false, .dtypes = like_->capabilities().dtypes}; }
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return add(LoweredSlot{LoweredSlot::Role::made, -1, dtype, elements}); }
  // A decomposition that knows elements of its own, such as a table, makes a constant.
  void upload(const HostArray& from, const TensorHandle& to) override {
    LoweredSlot& slot = program.slots[size_t(slot_of(to))];
    const TensorHandle real = make_tensor(device_, slot.dtype, to.layout(), like_->allocate(slot.dtype, slot.elements));
    like_->upload(from, real);
    make_constant(slot, real);
  }
  void download(const TensorHandle&, const HostArray&) override {
    depends_on_values = true;
    fail<CaptureError>("the program depends on values");
  }
  std::string name() const override { return "lowering"; }

  // A tensor of the backend below for one that the graph starts with.
  TensorHandle place(LoweredSlot::Role role, int32_t index, DType dtype, const Layout& layout, int64_t elements) {
    return make_tensor(device_, dtype, layout, add(LoweredSlot{role, index, dtype, elements}));
  }
  TensorHandle place_constant(const TensorHandle& t) {
    const auto [it, fresh] = known_.try_emplace(t.storage());
    if (fresh) {
      const int64_t elements = t.storage()->bytes / size_of(t.dtype());
      it->second = add(LoweredSlot{LoweredSlot::Role::constant, int32_t(program.constants.size()), t.dtype(), elements});
      program.constants.push_back(t);
    }
    return make_tensor(device_, t.dtype(), t.layout(), it->second);
  }
  LoweredOperand operand(const TensorHandle& t) {
    const bool ours = t.storage()->owner == this;
    return {ours ? slot_of(t) : slot_of(place_constant(t)), t.dtype(), t.layout()};
  }

  bool is_constant(const TensorHandle& t) { return program.slots[size_t(operand(t).slot)].role == LoweredSlot::Role::constant; }

  LoweredProgram program;
  bool depends_on_values = false;

 private:
  struct SlotStorage final : Storage {
    SlotStorage(Backend* owner, int32_t slot, int64_t bytes) : Storage(owner, bytes, nullptr, false), slot(slot) {}
    const int32_t slot;
  };
  Ref<Storage> add(LoweredSlot slot) {
    program.slots.push_back(slot);
    return Ref<Storage>(new SlotStorage(this, int32_t(program.slots.size()) - 1, bytes_of(slot.dtype, slot.elements)));
  }
  static int32_t slot_of(const TensorHandle& t) { return static_cast<const SlotStorage&>(*t.storage()).slot; }
  void make_constant(LoweredSlot& slot, const TensorHandle& real) {
    slot.role = LoweredSlot::Role::constant;
    slot.index = int32_t(program.constants.size());
    program.constants.push_back(real);
  }

  Ref<Backend> like_;
  Device& device_;
  std::unordered_map<const Storage*, Ref<Storage>> known_;  // constants
};

TensorHandle copy_of(const TensorHandle& x) {
  InputList in;
  in.add(x);
  return call(op::cast, CastTo{x.dtype()}, in);
}

void run(const Graph& g, std::span<const int64_t> extents, std::vector<TensorHandle>& values, Device& device) {
  const TensorHandle absent;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const GraphNode& node = g.nodes[i];
    InputList in;
    for (ValueId v : node.in) in.add(v < 0 ? absent : values[size_t(v)]);
    Tensors out;
    for (ValueId v : node.out) out.push_back(node.writes ? values[size_t(v)] : TensorHandle());
    const Operation op = operation_at(node, extents, in);
    dispatch(op.ref(), in, {out.data(), size_t(out.size())}, &device);
    for (int64_t k = 0; k < out.size(); ++k) values[size_t(node.out[k])] = std::move(out[k]);
  }
  for (const auto& [state, value] : g.updates) {
    InputList in;
    in.add(values[size_t(value)]);
    call_into(op::cast, CastTo{values[size_t(state)].dtype()}, in, values[size_t(state)]);
  }
}

}  // namespace

std::optional<LoweredProgram> lower(const Graph& graph, std::span<const int64_t> extents, std::span<const Shape> inputs,
    std::span<const TensorHandle> constants, Device& device, Backend& backend) {
  const Ref<LoweringBackend> lowering = make_ref<LoweringBackend>(backend, device);
  std::vector<TensorHandle> values(graph.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = graph.inputs[i];
    values[size_t(v)] = lowering->place(
        LoweredSlot::Role::input, int32_t(i), graph.values[size_t(v)].dtype, contiguous_layout(inputs[i]), checked_numel(inputs[i]));
  }
  for (size_t i = 0; i < constants.size(); ++i) values[size_t(graph.constants[i].first)] = lowering->place_constant(constants[i]);
  try {
    const LevelScope scope(*lowering);
    run(graph, extents, values, device);
    for (ValueId v : graph.outputs)
      if (lowering->is_constant(values[size_t(v)])) values[size_t(v)] = copy_of(values[size_t(v)]);  // what is given out may be written to
  } catch (const CaptureError&) {
    if (lowering->depends_on_values) return {};
    throw;
  }
  LoweredProgram& program = lowering->program;
  for (const LoweredNode& node : program.nodes)
    for (const LoweredOperand& o : node.out)
      if (program.slots[size_t(o.slot)].role == LoweredSlot::Role::input) return {};
  for (ValueId v : graph.outputs) program.outputs.push_back(lowering->operand(values[size_t(v)]));
  return std::move(program);
}

}  // namespace pyburn
