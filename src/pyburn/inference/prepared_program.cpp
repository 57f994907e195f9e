#include "pyburn/inference/prepared_program.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "pyburn/graph/choose_layouts.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/ordinary_pages.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn {
namespace {

using Role = LoweredSlot::Role;

// A part of an arena.
class ArenaStorage final : public Storage {
 public:
  ArenaStorage(const Ref<Storage>& arena, int64_t offset, int64_t bytes)
      : Storage(arena->owner, bytes, static_cast<std::byte*>(arena->host) + offset), arena_(arena) {
    exposed = true;  // its elements change from run to run: nothing that is computed from them is worth keeping
  }

 private:
  Ref<Storage> arena_;
};

TensorHandle contiguous(const TensorHandle& x, Backend& backend) {
  TensorHandle copy = make_tensor(x.device(), x.dtype(), contiguous_layout(x.shape()), backend.allocate(x.dtype(), x.numel()));
  const CastTo attrs{x.dtype()};
  const TensorHandle* in = &x;
  run(backend, {&op::cast, &attrs}, {&in, 1}, {&copy, 1});
  return copy;
}

}  // namespace

int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class PreparedProgram::PageScope {
 public:
  explicit PageScope(const PreparedProgram& p) {
    if (p.pages_ == Pages::ordinary) ordinary_.emplace();
  }

 private:
  std::optional<OrdinaryPages> ordinary_;
};

// The tensors of all nodes, and the memory of what is made on the way.
class PreparedProgram::Context {
 public:
  explicit Context(const PreparedProgram& plan) : plan_(plan), uses_(plan.program_.slots.size()) {
    const PageScope pages(plan);
    const LoweredProgram& p = plan.program_;
    std::vector<Ref<Storage>> storages(p.slots.size());
    if (!plan.memory_.offsets.empty()) arena_ = plan.backend_.allocate(DType::uint8, plan.memory_.bytes);
    for (size_t s = 0; s < storages.size(); ++s) {
      const LoweredSlot& slot = p.slots[s];
      if (slot.role == Role::constant) storages[s] = p.constants[size_t(slot.index)].impl()->storage;
      else if (plan.places_[s] >= 0)
        storages[s] = Ref<Storage>(new ArenaStorage(arena_, plan.places_[s], bytes_of(slot.dtype, slot.elements)));
    }
    const auto tensor = [&](const LoweredOperand& o) {
      if (o.slot < 0) return TensorHandle();
      TensorHandle t = make_tensor(plan.device_, o.dtype, o.layout, storages[size_t(o.slot)]);
      if (!t.storage()) uses_[size_t(o.slot)].push_back({t.impl(), o.layout.offset});
      return t;
    };
    nodes_.resize(p.nodes.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const LoweredOperand& o : p.nodes[i].in) nodes_[i].in.push_back(tensor(o));
      for (const TensorHandle& t : nodes_[i].in) nodes_[i].list.push_back(&t);
      for (const LoweredOperand& o : p.nodes[i].out) nodes_[i].out.push_back(tensor(o));
    }
    for (const LoweredOperand& o : p.outputs) outputs_.push_back(tensor(o));
    for (size_t s = 0; s < uses_.size(); ++s)
      if (!uses_[s].empty()) bound_.push_back(int32_t(s));
    prepare_nodes();
  }

  void bind_inputs(std::span<const TensorHandle> inputs, std::span<const TensorHandle> constants) {
    for (int32_t s : bound_) {
      const LoweredSlot& slot = plan_.program_.slots[size_t(s)];
      if (slot.role == Role::state) {
        const int32_t of_graph = plan_.program_.of_graph[size_t(slot.index)];
        const bool given = !constants.empty() && of_graph >= 0;
        bind(s, (given ? constants[size_t(of_graph)] : plan_.program_.constants[size_t(slot.index)]).impl()->storage, 0);
      }
      if (slot.role != Role::input) continue;
      const TensorHandle& given = inputs[size_t(slot.index)];
      const Layout& expected = plan_.program_.inputs[size_t(slot.index)];
      const bool lies_so = given.layout().strides == expected.strides || given.layout().is_contiguous();
      const TensorHandle x = lies_so ? given : contiguous(given, plan_.backend_);
      bind(s, x.impl()->storage, x.layout().offset - expected.offset);
    }
  }

  void run_node(size_t i) {
    const Needs& needs = plan_.needs_[i];
    for (int32_t s : needs.fresh) {
      const LoweredSlot& slot = plan_.program_.slots[size_t(s)];
      bind(s, plan_.backend_.allocate(slot.dtype, slot.elements), 0);
    }
    Node& node = nodes_[i];
    const Inputs in{node.list.data(), size_t(node.list.size())};
    const Outputs out{node.out.data(), size_t(node.out.size())};
    for (const TensorHandle& t : out) t.storage()->note_write();
    const OpRef op = plan_.program_.nodes[i].op.ref();
    if (node.call) node.call->run();
    else if (needs.direct) plan_.backend_.execute(op, in, out);
    else pyburn::run(plan_.backend_, op, in, out);
    for (int32_t s : needs.last) bind(s, {}, 0);
  }

  Tensors take_outputs() {
    Tensors results;
    for (const TensorHandle& t : outputs_) results.push_back(alias(t, t.layout()));
    for (int32_t s : bound_) bind(s, {}, 0);
    return results;
  }

 private:
  struct Node {
    SmallVector<TensorHandle, 4> in;
    SmallVector<const TensorHandle*, 4> list;
    Tensors out;
    Ref<PreparedCall> call;  // null: execute() is as good
  };
  struct Use {
    TensorImpl* tensor;
    int64_t offset;  // of its layout in the slot
  };
  // Nodes do not depend on each other here, and packing weights takes time. What is bound during a run is not known yet: memory that is
  // never touched stands in for it.
  void prepare_nodes() {
    for (int32_t s : bound_) {
      const LoweredSlot& slot = plan_.program_.slots[size_t(s)];
      const Ref<Storage> unknown = plan_.backend_.allocate(slot.dtype, slot.elements);
      unknown->exposed = true;
      bind(s, unknown, 0);
    }
    parallel_for(int64_t(nodes_.size()), 1, [&](int64_t begin, int64_t end) {
      const PageScope pages(plan_);
      const LevelScope scope(plan_.backend_);
      for (auto i = size_t(begin); i < size_t(end); ++i) {
        Node& node = nodes_[i];
        node.call = plan_.backend_.prepare(
            plan_.program_.nodes[i].op.ref(), {node.list.data(), size_t(node.list.size())}, {node.out.data(), size_t(node.out.size())});
      }
    });
    for (int32_t s : bound_) bind(s, {}, 0);
  }
  void bind(int32_t slot, const Ref<Storage>& storage, int64_t offset) {
    for (const Use& use : uses_[size_t(slot)]) {
      use.tensor->storage = storage;
      use.tensor->layout.offset = use.offset + offset;
    }
  }

  const PreparedProgram& plan_;
  Ref<Storage> arena_;
  std::vector<Node> nodes_;
  std::vector<TensorHandle> outputs_;
  std::vector<SmallVector<Use, 2>> uses_;  // per slot, where it gets memory during a run: the tensors on it
  std::vector<int32_t> bound_;             // these slots
};

PreparedProgram::PreparedProgram(LoweredProgram program, Device& device, Backend& backend, Pages pages)
    : program_(std::move(program)), device_(device), backend_(backend), pages_(pages) {
  hoist_constants(program_, device, backend);
  drop_unread(program_);
  if (backend.capabilities().channels_last) choose_layouts(program_);
  fuse(program_, backend);
  reuse_storages(program_);
  const std::vector<SlotUse> uses = slot_uses(program_);
  const int32_t end = int32_t(program_.nodes.size());
  const bool has_arena = backend.capabilities().host_memory;
  places_.resize(program_.slots.size(), -1);
  needs_.resize(program_.nodes.size());
  std::vector<BufferLife> lives;
  std::vector<size_t> slots;
  for (size_t s = 0; s < uses.size(); ++s) {
    const LoweredSlot& slot = program_.slots[s];
    if (slot.role != Role::made || uses[s].last_use < 0) continue;
    const int32_t first = std::max(uses[s].first_write, 0);  // elements that are never written may be read: empty()
    if (has_arena && uses[s].last_use < end) {
      lives.push_back({bytes_of(slot.dtype, slot.elements), first, uses[s].last_use});
      slots.push_back(s);
      continue;
    }
    if (first < end) needs_[size_t(first)].fresh.push_back(int32_t(s));
    if (uses[s].last_use < end) needs_[size_t(uses[s].last_use)].last.push_back(int32_t(s));
  }
  memory_ = plan_memory(lives);
  for (size_t i = 0; i < slots.size(); ++i) places_[slots[i]] = memory_.offsets[i];
  for (size_t i = 0; i < needs_.size(); ++i) needs_[i].direct = !program_.nodes[i].op.info().kernel;
}

PreparedProgram::~PreparedProgram() = default;

void PreparedProgram::prepare_context() {
  std::unique_ptr<Context> context = take_context();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(context));
}

std::unique_ptr<PreparedProgram::Context> PreparedProgram::take_context() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Context> context = std::move(free_.back());
      free_.pop_back();
      return context;
    }
  }
  return std::make_unique<Context>(*this);
}

// A context whose run fails is not used again: a kernel that was left behind by an interrupt may still write to its memory.
Tensors PreparedProgram::run(std::span<const TensorHandle> inputs, std::span<const TensorHandle> constants, StepWatcher* watcher) {
  std::unique_ptr<Context> context = take_context();
  const PageScope pages(*this);
  const LevelScope scope(backend_);
  context->bind_inputs(inputs, constants);
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    if (i % 64 == 0) check_interrupt();
    const int64_t start = watcher ? steady_nanoseconds() : 0;
    try {
      context->run_node(i);
    } catch (Error& e) {
      e.prefix(program_.nodes[i].op.info().function());
      throw;
    }
    if (watcher) watcher->step(*this, i, start, steady_nanoseconds());
  }
  Tensors results = context->take_outputs();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(context));
  return results;
}

}  // namespace pyburn
