#include "pyburn/graph/program_passes.h"

#include <algorithm>

#include "pyburn/graph/fuse.h"
#include "pyburn/ops/fused.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

using Role = LoweredSlot::Role;

int64_t bytes_of(const LoweredOperand& o) { return o.slot < 0 ? 0 : pyburn::bytes_of(o.dtype, o.layout.shape.numel()); }

std::vector<bool> output_slots(const LoweredProgram& p) {
  std::vector<bool> is_output(p.slots.size());
  for (const LoweredOperand& o : p.outputs) is_output[size_t(o.slot)] = true;
  return is_output;
}

// Nodes that may run before anybody asks: the same result each time, into storages that they alone write.
bool can_hoist(const LoweredProgram& p, const LoweredNode& node, const std::vector<SlotUse>& uses, const std::vector<bool>& is_output) {
  constexpr int64_t kSmall = 1 << 16;
  const Kind kind = node.op.info().kind;
  if (kind == Kind::dynamic || kind == Kind::update || draws_random_numbers(node.op.ref())) return false;
  int64_t given = 0, made = 0;
  for (const LoweredOperand& o : node.in) {
    if (o.slot >= 0 && (p.slots[size_t(o.slot)].role != Role::constant || uses[size_t(o.slot)].writes > 0)) return false;
    given += bytes_of(o);
  }
  for (const LoweredOperand& o : node.out) {
    if (p.slots[size_t(o.slot)].role != Role::made || uses[size_t(o.slot)].writes > 1 || is_output[size_t(o.slot)]) return false;
    made += bytes_of(o);
  }
  return made <= std::max(given, kSmall);  // quantised weights would become floats
}

// Is every element of the result computed from the elements at the same place?
bool is_in_step(const LoweredNode& node) {
  if (node.op.info().kind == Kind::elementwise) return true;
  if (&node.op.info() != &op::fused) return false;
  const Graph& body = *node.op.ref().as<Fused>().body;
  return std::all_of(body.nodes.begin(), body.nodes.end(), [](const GraphNode& n) { return n.op.info().kind == Kind::elementwise; });
}

}  // namespace

std::vector<SlotUse> slot_uses(const LoweredProgram& p) {
  std::vector<SlotUse> uses(p.slots.size());
  for (int32_t i = 0; i < int32_t(p.nodes.size()); ++i) {
    for (const LoweredOperand& o : p.nodes[size_t(i)].in)
      if (o.slot >= 0) uses[size_t(o.slot)].last_use = i;
    for (const LoweredOperand& o : p.nodes[size_t(i)].out) {
      SlotUse& use = uses[size_t(o.slot)];
      if (use.first_write < 0) use.first_write = i;
      use.last_use = i;
      ++use.writes;
    }
  }
  for (const LoweredOperand& o : p.outputs) uses[size_t(o.slot)].last_use = int32_t(p.nodes.size());
  return uses;
}

void hoist_constants(LoweredProgram& p, Device& device, Backend& backend) {
  const std::vector<SlotUse> uses = slot_uses(p);
  const std::vector<bool> is_output = output_slots(p);
  const LevelScope scope(backend);
  std::erase_if(p.nodes, [&](const LoweredNode& node) {
    if (!can_hoist(p, node, uses, is_output)) return false;
    SmallVector<TensorHandle, 4> in;
    Tensors out;
    InputList list;
    for (const LoweredOperand& o : node.in) {
      const TensorHandle* whole = o.slot < 0 ? nullptr : &p.constants[size_t(p.slots[size_t(o.slot)].index)];
      in.push_back(whole ? make_tensor(device, o.dtype, o.layout, whole->impl()->storage) : TensorHandle());
    }
    list.add(in);
    for (const LoweredOperand& o : node.out) {
      const LoweredSlot& slot = p.slots[size_t(o.slot)];
      out.push_back(make_tensor(device, o.dtype, o.layout, backend.allocate(slot.dtype, slot.elements)));
    }
    try {
      run(backend, node.op.ref(), list, {out.data(), size_t(out.size())});
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // raised when the program runs
      return false;
    }
    for (int64_t k = 0; k < out.size(); ++k) {
      LoweredSlot& slot = p.slots[size_t(node.out[k].slot)];
      slot.role = Role::constant;
      slot.index = int32_t(p.constants.size());
      p.constants.push_back(out[k]);
    }
    return true;
  });
}

void drop_unread(LoweredProgram& p) {
  std::vector<bool> read = output_slots(p), keep(p.nodes.size());
  for (size_t i = p.nodes.size(); i-- > 0;) {
    const LoweredNode& node = p.nodes[i];
    keep[i] = std::any_of(node.out.begin(), node.out.end(),
        [&](const LoweredOperand& o) { return read[size_t(o.slot)] || p.slots[size_t(o.slot)].role != Role::made; });
    if (!keep[i]) continue;
    for (const LoweredOperand& o : node.in)
      if (o.slot >= 0) read[size_t(o.slot)] = true;
    for (const LoweredOperand& o : node.out) read[size_t(o.slot)] = true;  // what it leaves as it was stays needed
  }
  size_t i = 0;
  std::erase_if(p.nodes, [&](const LoweredNode&) { return !keep[i++]; });
}

void fuse(LoweredProgram& p, Backend& backend) {
  std::vector<bool> visible = output_slots(p);
  for (size_t s = 0; s < visible.size(); ++s) visible[s] = visible[s] || p.slots[s].role != Role::made;
  const bool fuses = backend.known_support(op::fused, DType::float32) != KernelSupport::none;
  const Ref<const Plan> plan = fuse(describe(p.nodes, std::move(visible), fuses));
  std::vector<LoweredNode> nodes;
  for (const Step& step : plan->steps) {
    if (!step.fused) {
      if (step.node >= 0) nodes.push_back(p.nodes[size_t(step.node)]);
      continue;
    }
    const Fused attrs{body_of(*step.fused, p.nodes)};
    LoweredNode& node = nodes.emplace_back(LoweredNode{Operation(OpRef{&op::fused, &attrs}), {}, {}});
    for (ValueId v : step.fused->inputs) node.in.push_back(operand_at(p.nodes, step.fused->values[size_t(v)]));
    for (ValueId v : step.fused->outputs) node.out.push_back(operand_at(p.nodes, step.fused->values[size_t(v)]));
  }
  p.nodes = std::move(nodes);
}

void reuse_storages(LoweredProgram& p) {
  std::vector<SlotUse> uses = slot_uses(p);
  const std::vector<bool> is_output = output_slots(p);
  std::vector<int32_t> now(p.slots.size());  // where each slot has gone
  for (size_t s = 0; s < now.size(); ++s) now[s] = int32_t(s);
  for (int32_t i = 0; i < int32_t(p.nodes.size()); ++i) {
    LoweredNode& node = p.nodes[size_t(i)];
    for (LoweredOperand& o : node.in)
      if (o.slot >= 0) o.slot = now[size_t(o.slot)];
    auto dies_here = [&](const LoweredOperand& in, const LoweredOperand& out) {
      if (in.slot < 0 || p.slots[size_t(in.slot)].role != Role::made || uses[size_t(in.slot)].last_use != i) return false;
      if (!(in.layout == out.layout) || in.dtype != out.dtype) return false;
      for (const LoweredOperand& other : node.in)
        if (other.slot == in.slot && !(other.layout == in.layout && other.dtype == in.dtype)) return false;
      const LoweredSlot &from = p.slots[size_t(in.slot)], &to = p.slots[size_t(out.slot)];
      return from.dtype == to.dtype && from.elements == to.elements;
    };
    for (LoweredOperand& out : node.out) {
      const int32_t old = out.slot;
      if (is_in_step(node) && now[size_t(old)] == old && p.slots[size_t(old)].role == Role::made && uses[size_t(old)].first_write == i)
        for (const LoweredOperand& in : node.in)
          if (dies_here(in, out)) {
            now[size_t(old)] = in.slot;
            uses[size_t(in.slot)].last_use = uses[size_t(old)].last_use;
            break;
          }
      out.slot = now[size_t(old)];
    }
  }
  for (LoweredOperand& o : p.outputs) o.slot = now[size_t(o.slot)];
}

}  // namespace pyburn
