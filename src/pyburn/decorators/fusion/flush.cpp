// Runs a queue: finds its plan, then passes its steps to the inner backend in order.
#include <algorithm>
#include <new>

#include "pyburn/decorators/fusion/fusion.h"
#include "pyburn/ops/fused.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"

namespace pyburn {
namespace {

bool covers(const Queue& queue, const LoweredOperand& o) { return covers(queue.storage(o.slot), o.dtype, o.layout); }

// Raises the error that a target carries, unless the operation replaces all of its elements.
void check_target(const Queue& queue, const LoweredOperand& o, const OpInfo& op) {
  if (queue.storage(o.slot).error.is_set() && (reads_output(op) || !covers(queue, o))) raise_if_spoiled(queue.storage(o.slot));
}

// The nodes of a step whose results are visible.
template <class Visit>
void for_each_target(const Step& step, const Queue& queue, Visit visit) {
  if (!step.fused) {
    if (step.node >= 0)
      for (const LoweredOperand& o : queue.nodes()[size_t(step.node)].out) visit(o);
    return;
  }
  const auto& outputs = step.fused->outputs;
  for (const FusedStep::Node& n : step.fused->nodes)
    if (std::find(outputs.begin(), outputs.end(), n.out) != outputs.end()) visit(queue.nodes()[size_t(n.node)].out[0]);
}

}  // namespace

Ref<const Plan> Fusion::plan() {
  std::vector<bool> visible;
  for (int32_t slot = 0; slot < queue_.slots(); ++slot) visible.push_back(queue_.held_elsewhere(slot));
  const bool fuses = inner_->known_support(op::fused, DType::float32) != KernelSupport::none;
  const FuseStructure structure = describe(queue_.nodes(), std::move(visible), fuses);
  std::vector<uint32_t> key = structure.key();
  if (Ref<const Plan> known = plans_.find(key)) {
    ++statistics_.plans_found;
    return known;
  }
  Ref<const Plan> made = fuse(structure);
  plans_.add(std::move(key), made);
  ++statistics_.plans_made;
  return made;
}

void Fusion::flush_locked() {
  if (queue_.empty()) return queue_.clear();  // a node that could not be added may have left its storages
  LevelScope scope(*inner_);
  const Ref<const Plan> plan = this->plan();
  ++statistics_.flushes;
  std::exception_ptr interrupt, left_out;
  for (const Step& step : plan->steps) {
    std::exception_ptr error = left_out;
    try {
      if (!interrupt) run_step(step);
    } catch (const Interrupted&) {  // raised in the flushing thread; later reads of the results find an error
      interrupt = std::current_exception();
      error = left_out = std::make_exception_ptr(Error("the tensor has no values: the operation that computes it was interrupted"));
    } catch (...) {
      error = std::current_exception();
    }
    for_each_target(step, queue_, [&](const LoweredOperand& o) {
      Storage& s = queue_.storage(o.slot);
      if (error || (s.error.is_set() && covers(queue_, o))) s.error.set(error);
    });
    for (int32_t slot : step.releases) queue_.release(slot);
  }
  queue_.clear();
  if (interrupt) std::rethrow_exception(interrupt);
}

void Fusion::run_step(const Step& step) {
  if (!step.fused && step.node < 0) return;
  ++statistics_.kernels;
  const LoweredNode& last = queue_.nodes()[size_t(step.fused ? step.fused->nodes.back().node : step.node)];
  try {
    step.fused ? run_fused(*step.fused) : run_node(last);
  } catch (Error& e) {
    e.prefix(last.op.info().function());
    throw;
  }
}

void Fusion::run_node(const LoweredNode& node) {
  SmallVector<TensorHandle, 4> inputs;
  Tensors outputs;
  InputList list;
  for (const LoweredOperand& o : node.in)
    inputs.push_back(o.slot < 0 ? TensorHandle() : inner_tensor(queue_.storage(o.slot), o.dtype, o.layout));
  list.add(inputs);
  for (const LoweredOperand& o : node.out) check_target(queue_, o, node.op.info());
  for (const LoweredOperand& o : node.out) outputs.push_back(inner_target(queue_.storage(o.slot), o.dtype, o.layout));
  run(*inner_, node.op.ref(), list, {outputs.data(), size_t(outputs.size())});
}

void Fusion::run_fused(const FusedStep& step) {
  SmallVector<TensorHandle, 8> inputs;
  Tensors outputs;
  InputList list;
  for (ValueId v : step.outputs) {
    const LoweredOperand& o = operand_at(queue_.nodes(), step.values[size_t(v)]);
    check_target(queue_, o, op::fused);
    outputs.push_back(inner_target(queue_.storage(o.slot), o.dtype, o.layout));
  }
  for (ValueId v : step.inputs) {
    const LoweredOperand& o = operand_at(queue_.nodes(), step.values[size_t(v)]);
    inputs.push_back(inner_tensor(queue_.storage(o.slot), o.dtype, o.layout));
  }
  list.add(inputs);
  const Fused attrs{body_of(step, queue_.nodes())};
  run(*inner_, {&op::fused, &attrs}, list, {outputs.data(), size_t(outputs.size())});
  ++statistics_.fused_kernels;
  statistics_.fused_nodes += int64_t(step.nodes.size());
}

}  // namespace pyburn
