#include "pyburn/decorators/autodiff/node.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "pyburn/decorators/autodiff/gradient_cycles.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/ir/grad_context.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/run_observer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/support/patient_lock.h"

namespace pyburn::autograd {

std::string (*describe_caller)() = nullptr;

Modes& modes() {
  thread_local Modes m;
  return m;
}

std::vector<Ref<SavedTensorHooks>>& saved_tensor_hooks() {
  thread_local std::vector<Ref<SavedTensorHooks>> stack;
  return stack;
}

namespace {
std::atomic<uint64_t> next_sequence{1};
auto& accumulator_mutex = *new ForkSafeMutex;  // leaves may die late
}  // namespace

ForkSafeMutex& gradient_mutex(const TensorHandle& leaf) {
  static auto& stripes = *new std::array<ForkSafeMutex, 16>;
  return stripes[(reinterpret_cast<uintptr_t>(leaf.impl()) >> 6) % stripes.size()];
}

Node::~Node() = default;

uint64_t Node::next_number() { return next_sequence.fetch_add(1, std::memory_order_relaxed); }

void Node::number() {
  sequence = next_number();
  if (modes().anomaly && describe_caller) made_at = std::make_unique<std::string>(describe_caller());
}

void check_hook_result(const std::string& hook, const TensorHandle& before, const TensorHandle& after) {
  require<GradientError>(
      after.shape() == before.shape(), "hook '{}' has changed the size of value: was {}, got {}", hook, before.shape(), after.shape());
  require<GradientError>(
      after.dtype() == before.dtype(), "hook '{}' has changed the type of value: was {}, got {}", hook, before.dtype(), after.dtype());
  require<GradientError>(&after.device() == &before.device(), "hook '{}' has changed the device of value: was {}, got {}", hook,
      before.device(), after.device());
}

void Node::destroy() const noexcept {
  thread_local const Node* dead = nullptr;
  thread_local bool draining = false;
  next_dead_ = dead;
  dead = this;
  if (draining) return;
  draining = true;
  while (const Node* node = dead) {
    dead = node->next_dead_;
    delete node;  // may add to `dead`
  }
  draining = false;
}

void Node::visit_references(ReferenceVisitor& v) const {
  for (const Edge& e : edges)
    if (e.node) v.node(*e.node);
  if (hooks)
    for (const OutputHook& h : *hooks) v.host(*h.hook);
  if (node_hooks)
    for (const NumberedNodeHook& h : *node_hooks) v.host(*h.hook);
  if (retained)
    for (const RetainedGrad& r : *retained) v.box(*r.box);
}

SavedTensor::SavedTensor(const TensorHandle& t)
    : storage(t.impl()->storage), layout(t.layout()), device(&t.device()), version(t.storage()->version()), dtype(t.dtype()) {
  require<GradientError>(!t.has(Flag::inference), "inference tensors cannot be saved for backward; clone them first");
  if (saved_tensor_hooks().empty()) return;
  const Ref<SavedTensorHooks> hooks = saved_tensor_hooks().back();
  const NoGrad no_grad;
  const LevelScope whole(nullptr);  // the user's function sees tensors as users do
  packed = hooks->pack(alias(t, t.layout()));
  storage = nullptr;
}

namespace {
TensorHandle with_history(TensorHandle t, const Edge& edge) {
  if (!edge.node || !is_floating(t.dtype())) return t;
  History& h = ensure_history(t);
  h.node = edge.node;
  h.output = edge.output;
  t.set(Flag::requires_grad);
  return t;
}
}  // namespace

TensorHandle SavedTensor::unpack(const Edge& edge) const {
  if (!defined()) return {};
  if (packed) {
    const TensorHandle value = packed->unpack();
    require(value.shape() == layout.shape, "the unpack hook returned a tensor of another shape: got {}, expected {}", value.shape(),
        layout.shape);
    return with_history(alias(value, value.layout()), edge);
  }
  require<GradientError>(storage->version() == version,
      "one of the variables needed for gradient computation has been modified by an inplace operation: "
      "[{} {}] is at version {}; expected version {} instead",
      dtype, layout.shape, storage->version(), version);
  return with_history(make_tensor(*device, dtype, layout, storage), edge);
}

namespace {
int first_operand(OpRef op) { return op.info->number_first && op.info->number_first(op.attrs); }

// What the gradients that are wanted read, in positions of operands.
ReadSet read_by_wanted(OpRef op, const SmallVector<Edge, 3>& edges) {
  const OpInfo& info = *op.info;
  ReadSet all;
  if (!info.reads.stated) {
    if (info.saves & inputs) all.bits |= uint8_t((1 << kOutputs) - 1);
    if (info.saves & outputs) all.bits |= uint8_t(1 << kOutputs);
    return all;
  }
  const int first = first_operand(op);
  for (int i = 0; i < edges.size() && first + i < Reads::kMost; ++i)
    if (edges[i].node) all.bits |= info.reads.by_gradient[first + i].bits;
  return all;
}
}  // namespace

OpNode::OpNode(OpRef op, Inputs in, Outputs targets, Backend& inner) : op_(op) {
  for (const TensorHandle* t : in) {
    edges.push_back(t->defined() ? edge_of(*t) : Edge());
    inputs_.push_back(t->defined() ? t->meta() : Meta{});
  }
  const ReadSet read = read_by_wanted(op, edges);
  keeps_outputs_ = read.has_outputs();
  if (read.has_any_operand()) {
    const int first = first_operand(op);
    for (size_t i = 0; i < in.size(); ++i) {
      const TensorHandle& t = *in[i];
      if (!t.defined() || !read.has_operand(first + int(i))) {
        saved_inputs_.push_back({});
        continue;
      }
      bool overwritten = false;
      for (const TensorHandle& target : targets) overwritten |= target.defined() && target.storage() && target.storage() == t.storage();
      TensorHandle kept = t;
      if (overwritten) {  // keep the values from before the write
        const LevelScope below(inner);
        kept = fn::clone(t);
      }
      saved_inputs_.push_back(SavedTensor(kept));
    }
  }
  number();
}

OpNode::OpNode(const Operation& view, const Meta& input, Edge edge) : op_(view) {
  edges.push_back(std::move(edge));
  inputs_.push_back(input);
  number();
}

void OpNode::save_outputs(Outputs out) {
  if (out.size() > 1)
    for (const TensorHandle& t : out) outputs_.push_back(t.meta());
  if (!keeps_outputs_ && !(op_.info().saves & later_outputs)) return;
  for (size_t i = 0; i < out.size(); ++i) saved_outputs_.push_back(i > 0 || keeps_outputs_ ? SavedTensor(out[i]) : SavedTensor());
}

// What the rule of one node sees.
class RuleContext final : public GradContext {
 public:
  RuleContext(const OpNode& node, Grads& dy) : node_(node), dy_(dy), differentiable_(modes().grad) {}

  const TensorHandle& dy(int i) const override {
    TensorHandle& g = dy_[i];
    if (!g.defined()) {
      const Meta& m = node_.outputs_[i];
      g = fn::zeros(m.shape, m.dtype, &first_device(), false);
    }
    return g;
  }
  bool has_dy(int i) const override { return dy_[i].defined(); }
  TensorHandle input(int i) const override {
    require_saved(i < node_.saved_inputs_.size(), "input", i);
    return node_.saved_inputs_[i].unpack(differentiable_ ? node_.edges[i] : Edge());
  }
  TensorHandle output(int i) const override {
    require_saved(i < node_.saved_outputs_.size(), "output", i);
    return node_.saved_outputs_[i].unpack(differentiable_ ? Edge{Ref<Node>(const_cast<OpNode*>(&node_)), i} : Edge());
  }
  const Meta& meta(int i) const override { return node_.inputs_[i]; }
  bool needs(int i) const override { return bool(node_.edges[i].node); }
  int inputs() const override { return int(node_.inputs_.size()); }

 private:
  void require_saved(bool saved, const char* what, int i) const {
    if (!saved)
      fail<GradientError>("[{}] the gradient rule reads {} {}, which was not saved: declare it in `saves` or `reads` of the row",
          node_.op_.info().name(), what, i);
  }
  Device& first_device() const {
    for (const TensorHandle& g : dy_)
      if (g.defined()) return g.device();
    return default_device();
  }
  const OpNode& node_;
  Grads& dy_;
  bool differentiable_;
};

Grads OpNode::apply(Grads& dy) {
  require<GradientError>(!released_,
      "Trying to backward through the graph a second time (or to access saved tensors after they have been "
      "freed). Specify retain_graph=True the first time");
  if (dy.size() < outputs_.size()) dy.resize(outputs_.size());  // no gradient reached the last results
  Grads dx = op_.info().grad(op_.ref(), RuleContext(*this, dy));
  check_gradients(dx);
  return dx;
}

// What a rule of another package gets wrong would be added to the gradient of something else, or broadcast.
void OpNode::check_gradients(const Grads& dx) const {
  const std::string_view name = op_.info().name();
  const auto is_wanted = [&](int64_t i) { return edges[i].node && is_floating(inputs_[i].dtype); };
  bool complete = dx.size() <= inputs_.size();
  for (int64_t i = dx.size(); i < inputs_.size(); ++i) complete &= !is_wanted(i);
  require<GradientError>(
      complete, "[{}] the gradient rule returned the wrong number of gradients: expected {}, got {}", name, inputs_.size(), dx.size());
  for (int64_t i = 0; i < dx.size(); ++i) {
    if (!dx[i].defined() || !is_wanted(i)) continue;
    require<GradientError>(dx[i].shape() == inputs_[i].shape, "[{}] the gradient of input {} has a wrong shape: expected {}, got {}", name,
        i, inputs_[i].shape, dx[i].shape());
    require<GradientError>(dx[i].dtype() == inputs_[i].dtype, "[{}] the gradient of input {} has a wrong dtype: expected {}, got {}", name,
        i, inputs_[i].dtype, dx[i].dtype());
  }
}

bool OpNode::add_part(TensorHandle& sum, const Grads& dy) const {
  if (op_.info().kind != Kind::view || !dy[0].defined()) return false;
  const Meta& whole = inputs_[0];
  if (dy[0].numel() >= whole.shape.numel()) return false;
  Layout plain = contiguous_layout(whole.shape);
  const Layout part = op_.info().view(op_.ref(), plain);
  ++plain.offset;  // a view that does not move with its input (as_strided) names places of the storage, not parts of the input
  if (op_.info().view(op_.ref(), plain).offset != part.offset + 1) return false;
  if (part.has_overlap() || part.shape != dy[0].shape() || dy[0].dtype() != whole.dtype) return false;
  const bool first = !sum.defined();
  if (first) sum = fn::zeros(whole.shape, whole.dtype, &dy[0].device(), false);
  InputList in;
  in.add(sum);
  TensorHandle target;
  dispatch(op_.ref(), in, {&target, 1});
  if (first) copy_into(target, dy[0]);
  else fn::add_into(target, target, dy[0]);
  return true;
}

void OpNode::visit_references(ReferenceVisitor& v) const {
  Node::visit_references(v);
  for (const SavedTensor& saved : saved_inputs_)
    if (saved.packed) v.host(*saved.packed);
  for (const SavedTensor& saved : saved_outputs_)
    if (saved.packed) v.host(*saved.packed);
}

void OpNode::release_saved() {
  if (saved_inputs_.empty() && saved_outputs_.empty()) return;  // nothing kept: may be used again
  saved_inputs_.clear();
  saved_outputs_.clear();
  released_ = true;
}

std::string OpNode::name() const {  // "log_softmax" -> "LogSoftmaxBackward0"
  std::string text;
  bool upper = true;
  for (char c : op_.info().name()) {
    if (c != '_') text += upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return text + "Backward0";
}

AccumulateGrad::~AccumulateGrad() {
  if (may_close_cycle) forget_gradient_cycle(*this);
  std::lock_guard lock(accumulator_mutex);
  if (History* h = history_of(leaf_); h && h->accumulator == this) h->accumulator = nullptr;
}

Ref<AccumulateGrad> accumulator_of(const TensorHandle& leaf) {
  History& h = ensure_history(leaf);
  std::lock_guard lock(accumulator_mutex);
  // Its last reference may be going away on another thread: then it cannot be revived, and a new one takes its place.
  if (h.accumulator && h.accumulator->try_retain()) return Ref<AccumulateGrad>::adopt(h.accumulator);
  Ref<AccumulateGrad> fresh(new AccumulateGrad(leaf));
  h.accumulator = fresh.get();
  return fresh;
}

namespace {
// Axes from the outermost in memory to the innermost, and where each of them went.
std::pair<Dims, Dims> order_in_memory(const Layout& layout) {
  Dims order, back(layout.rank(), 0);
  for (int i = 0; i < layout.rank(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return layout.strides[a] > layout.strides[b]; });
  for (int64_t i = 0; i < order.size(); ++i) back[order[i]] = i;
  return {order, back};
}

bool lies_as(const Dims& strides, const Layout& x) {
  for (int i = 0; i < x.rank(); ++i)
    if (x.shape[i] > 1 && x.strides[i] != strides[i]) return false;
  return true;
}
// PyTorch's contract: a gradient has the layout of its leaf if that is dense, otherwise it is contiguous.
Dims strides_for(const TensorHandle& leaf) {
  const Dims dense = dense_strides_like(leaf.layout());
  return lies_as(dense, leaf.layout()) ? dense : contiguous_strides(leaf.shape());
}
TensorHandle copied_as(const Layout& wanted, const TensorHandle& x) {
  if (wanted.is_contiguous()) return fn::contiguous_copy(x);
  const auto [order, back] = order_in_memory(wanted);
  return fn::permute(fn::contiguous_copy(fn::permute(x, order)), back);
}
// Does nothing else reference the memory? It may be a view of a whole result that is not used otherwise.
bool is_alone(const TensorHandle& g) {
  const RunObserver* observer = run_observer();
  const uint32_t watched = observer && observer->keeps(*g.storage()) ? 1 : 0;
  if (g.impl()->use_count() != 1) return false;
  const auto is_plain = [](const History* h) { return !h || !(h->node || h->hooks || h->retained || h->grad.defined()); };
  const History* h = history_of(g);
  if (!is_plain(h)) return false;
  if (!h || !h->base.defined()) return g.storage()->use_count() == 1 + watched;
  const History* of_base = history_of(h->base);
  return is_plain(of_base) && !(of_base && of_base->base.defined()) && h->base.impl()->use_count() == 1 &&
         g.storage()->use_count() == 2 + watched && g.storage()->bytes == bytes_of(g.dtype(), g.numel());
}
}  // namespace

TensorHandle laid_out_as(const TensorHandle& leaf, const TensorHandle& gradient) {
  const Layout wanted{leaf.shape(), strides_for(leaf), 0};
  return lies_as(wanted.strides, gradient.layout()) ? gradient : copied_as(wanted, gradient);
}

Grads AccumulateGrad::apply(Grads& dy) {
  if (!dy[0].defined() || !leaf_.requires_grad()) return {};  // detach_() may have come after the forward pass
  TensorHandle g = std::move(dy[0]);
  std::optional<PatientLock> lock(std::in_place, gradient_mutex(leaf_));
  History& h = ensure_history(leaf_);
  if (h.grad.defined()) {
    if (modes().grad) {
      h.grad = fn::add(h.grad, g);
    } else {
      fn::add_into(h.grad, h.grad, g);
    }
  } else {
    const Layout wanted{leaf_.shape(), strides_for(leaf_), 0};
    const bool fits = lies_as(wanted.strides, g.layout());
    if (modes().grad) {
      h.grad = fits ? g : copied_as(wanted, g);
    } else {
      // Taken over if nothing else references it, copied otherwise.
      const bool alone = fits && is_alone(g);
      if (alone) std::atomic_thread_fence(std::memory_order_acquire);  // what another thread did with it, before it let go, has happened
      h.grad = alone ? g : copied_as(wanted, fn::detach(g));
      forget_base(h.grad);
    }
  }
  if (h.grad.requires_grad()) note_gradient_cycle(*this);
  lock.reset();
  if (h.hooks) {
    const std::vector<OutputHook> hooks = *h.hooks;  // a copy: a hook may remove itself
    for (const OutputHook& hook : hooks)
      if (hook.output == OutputHook::kAfter) hook.hook->call(leaf_);
  }
  return {};
}

void AccumulateGrad::visit_references(ReferenceVisitor& v) const {
  Node::visit_references(v);
  v.tensor(leaf_);
}

CopySlices::CopySlices(Edge base, const TensorHandle& base_tensor, const SmallVector<Operation, 2>& chain, Ref<Node> write)
    : layout_{base_tensor.shape(), dense_strides_like(base_tensor.layout()), 0}, chain_(chain), write_(std::move(write)) {
  edges.push_back(std::move(base));
  for (const Edge& e : write_->edges) edges.push_back(e);
  number();
}

void CopySlices::visit_references(ReferenceVisitor& v) const {
  Node::visit_references(v);
  v.node(*write_);
}

namespace {
// Zeros with the dimension order of `layout`, which is dense.
TensorHandle dense_zeros(const Layout& layout, const TensorHandle& like) {
  if (layout.is_contiguous()) return fn::zeros(layout.shape, like.dtype(), &like.device(), false);
  const auto [order, back] = order_in_memory(layout);
  Dims sizes;
  for (int64_t axis : order) sizes.push_back(layout.shape[axis]);
  return fn::permute(fn::zeros(sizes, like.dtype(), &like.device(), false), back);
}
}  // namespace

Grads CopySlices::apply(Grads& dy) {
  // The whole gradient, in the base's own order of axes, so that the chain of views applies to it.
  const TensorHandle whole = dense_zeros(layout_, dy[0]);
  copy_into(whole, dy[0]);
  TensorHandle part = whole;
  for (const Operation& view : chain_) {
    InputList in;
    in.add(part);
    TensorHandle next;
    dispatch(view.ref(), in, {&next, 1});
    part = next;
  }
  Grads written{fn::clone(part)};
  copy_into(part, fn::zeros(Dims{}, part.dtype(), &part.device(), false));
  Grads result{whole};
  Grads rest = write_->apply(written);
  result.append(rest.begin(), rest.end());
  return result;
}

}  // namespace pyburn::autograd
