#include "pyburn/graph/lowering.h"

#include <unordered_map>

#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/graph_run.h"
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
  TensorHandle place_constant(const TensorHandle& t, int32_t of_graph = -1) {
    const auto [it, fresh] = known_.try_emplace(t.storage());
    if (fresh) {
      const int64_t elements = t.storage()->bytes / size_of(t.dtype());
      it->second = add(LoweredSlot{LoweredSlot::Role::constant, int32_t(program.constants.size()), t.dtype(), elements});
      program.constants.push_back(t);
      program.of_graph.push_back(of_graph);
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
    program.of_graph.push_back(-1);
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

}  // namespace

std::optional<LoweredProgram> lower(const Graph& graph, std::span<const int64_t> extents, std::span<const Layout> inputs,
    std::span<const TensorHandle> constants, Device& device, Backend& backend) {
  const Ref<LoweringBackend> lowering = make_ref<LoweringBackend>(backend, device);
  GraphRun run(graph, Extents(extents), &device);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = graph.inputs[i];
    checked_numel(inputs[i].shape);
    run.set(v, lowering->place(LoweredSlot::Role::input, int32_t(i), graph.values[size_t(v)].dtype, inputs[i], inputs[i].extent().second));
  }
  for (size_t i = 0; i < constants.size(); ++i) run.set(graph.constants[i].first, lowering->place_constant(constants[i], int32_t(i)));
  try {
    const LevelScope scope(*lowering);
    for (const GraphNode& node : graph.nodes) run.run(node);
    run.run_updates();
    for (ValueId v : graph.outputs)
      if (lowering->is_constant(run[v])) run.set(v, copy_of(run[v]));  // what is given out may be written to
  } catch (const CaptureError&) {
    if (lowering->depends_on_values) return {};
    throw;
  }
  LoweredProgram& program = lowering->program;
  for (const LoweredNode& node : program.nodes)
    for (const LoweredOperand& o : node.out) {
      LoweredSlot::Role& role = program.slots[size_t(o.slot)].role;
      if (role == LoweredSlot::Role::input) return {};
      if (role == LoweredSlot::Role::constant) role = LoweredSlot::Role::state;
    }
  program.inputs.assign(inputs.begin(), inputs.end());
  for (ValueId v : graph.outputs) program.outputs.push_back(lowering->operand(run[v]));
  return std::move(program);
}

}  // namespace pyburn
