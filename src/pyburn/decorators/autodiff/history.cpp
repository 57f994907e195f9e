#include "pyburn/decorators/autodiff/history.h"

#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/ops/views.h"
#include "pyburn/support/error.h"

namespace pyburn::autograd {

History* history_of(const TensorHandle& t) { return static_cast<History*>(t.impl()->autograd.get()); }

History& ensure_history(const TensorHandle& t) {
  if (!t.impl()->autograd) t.impl()->autograd.reset(new History);
  return *history_of(t);
}

void History::visit_references(ReferenceVisitor& v) const {
  if (node) v.node(*node);
  if (grad.defined()) v.tensor(grad);
  if (retained) v.box(*retained);
  if (base.defined()) v.tensor(base);
  if (hooks)
    for (const OutputHook& h : *hooks) v.host(*h.hook);
}

bool is_view(const TensorHandle& t) {
  const History* h = history_of(t);
  return h && h->base.defined();
}

namespace {

uint32_t generation_of(const TensorHandle& base) {
  const History* h = history_of(base);
  return h ? h->generation : 0;
}

// retain_grad() refers to the tensor in its current state: it moves to a new node with the tensor.
void set_node(History& h, Ref<Node> node, int32_t output) {
  if (h.retained) {
    if (h.node && h.node->retained) std::erase_if(*h.node->retained, [&](const RetainedGrad& r) { return r.box == h.retained; });
    if (node) keep_gradient(*node, output, h.retained);
  }
  h.node = std::move(node);
  h.output = output;
}

// Each view copies the chain of its input: a longer one is replaced by what follows from the two layouts, so that n views of views take
// memory for n operations, not n * n / 2.
constexpr int64_t kLongestChain = 8;

// The path from the base to a view. A view that was created without gradient recording, or as one of many, has none: it is derived from the
// two layouts.
const SmallVector<Operation, 2>& chain_of(const TensorHandle& view, History& h) {
  if (h.chain.empty()) {
    const Layout &from = h.base.layout(), &to = view.layout();
    const AsStrided attrs{to.shape, to.strides, to.offset - from.offset, from.strides, 0};
    h.chain.push_back(Operation(OpRef{&op::as_strided, &attrs}));
  }
  return h.chain;
}

// The base was written since the node of this view was made: its history is that of the base, seen through the chain.
void rebuild_view(const TensorHandle& t, History& h) {
  Edge edge = edge_of(h.base);
  Layout layout = h.base.layout();
  for (const Operation& view : chain_of(t, h)) {
    const Meta input{layout.shape, t.dtype()};
    layout = view.info().view(view.ref(), layout);
    if (edge.node) edge = {Ref<Node>(new OpNode(view, input, std::move(edge))), 0};
  }
  set_node(h, std::move(edge.node), edge.output);
  h.base_generation = generation_of(h.base);
  t.set(Flag::requires_grad, bool(h.node));
}

History* refreshed(const TensorHandle& t) {
  History* h = history_of(t);
  if (h && h->base.defined() && h->base_generation != generation_of(h->base)) rebuild_view(t, *h);
  return h;
}

}  // namespace

void keep_gradient(Node& node, int32_t output, Ref<GradBox> box) {
  if (!node.retained) node.retained = std::make_unique<std::vector<RetainedGrad>>();
  node.retained->push_back({output, std::move(box)});
}

bool is_leaf(const TensorHandle& t) {
  const History* h = refreshed(t);
  return !h || !h->node;
}

bool wants_gradient(const TensorHandle& t) {
  if (t.impl()->autograd) refreshed(t);
  return t.requires_grad();
}

Edge edge_of(const TensorHandle& t) {
  if (!wants_gradient(t)) return {};
  if (const History* h = history_of(t); h && h->node) return {h->node, h->output};
  return {accumulator_of(t), 0};
}

void set_history(const Ref<Node>& node, const TensorHandle& out, int32_t output, bool written) {
  if (!is_floating(out.dtype())) return;
  History& h = ensure_history(out);
  if (written && h.base.defined()) {
    refreshed(out);
    const TensorHandle base = h.base;
    const Edge before = edge_of(base);
    History& b = ensure_history(base);
    set_node(b, Ref<Node>(new CopySlices(before, base, chain_of(out, h), node)), 0);
    ++b.generation;
    base.set(Flag::requires_grad);
    refreshed(out);
    return;
  }
  set_node(h, node, output);
  if (written) ++h.generation;
  out.set(Flag::requires_grad);
}

void record_view(OpRef op, const TensorHandle& input, const TensorHandle& out) {
  if (modes().inference || !is_floating(out.dtype()) || input.has(Flag::untracked)) {
    if (modes().inference) out.set(Flag::inference);
    return;
  }
  History* of_input = refreshed(input);
  History& h = ensure_history(out);
  // A leaf is a base of its own, even where it is itself a view of something that is not differentiated.
  const bool leaf = input.requires_grad() && !(of_input && of_input->node);
  h.base = of_input && of_input->base.defined() && !leaf ? of_input->base : input;
  h.base_generation = generation_of(h.base);
  h.made_without_grad = !modes().grad || (of_input && of_input->made_without_grad);
  const bool wanted = modes().grad && input.requires_grad();
  const bool follows = h.base.layout().is_contiguous() && out.dtype() == h.base.dtype();  // see chain_of
  if (!wanted && follows) return;
  const Operation view(op);
  const bool of_view = of_input && of_input->base.defined() && !leaf;
  if (!follows || !of_view || of_input->chain.size() < kLongestChain) {
    if (of_view) h.chain = chain_of(input, *of_input);
    h.chain.push_back(view);
  }
  if (wanted) {
    h.node = Ref<Node>(new OpNode(view, input.meta(), edge_of(input)));
    out.set(Flag::requires_grad);
  }
}

void forget_base(const TensorHandle& view) {
  History* h = refreshed(view);
  if (!h) return;
  h->base = {};
  h->chain.clear();
  h->made_without_grad = false;
}

void refuse_write(const TensorHandle& target) {
  if (wants_gradient(target) && is_leaf(target))
    fail<GradientError>("a leaf Variable that requires grad is being used in an in-place operation; use no_grad() or .data");
  const History* h = history_of(target);
  if (!h || !h->base.defined()) return;
  if (wants_gradient(h->base) && is_leaf(h->base))
    fail<GradientError>("a view of a leaf Variable that requires grad is being used in an in-place operation; use no_grad() or .data");
  if (h->made_without_grad)
    fail<GradientError>(
        "a view was created in no_grad mode and is being modified inplace with grad mode enabled; make the view outside "
        "no_grad, or write inside it");
  if (h->base.layout().has_overlap())  // a detached expand: the write concerns more elements of the base than the view has
    fail<GradientError>(
        "cannot write to a view of an expanded tensor while gradients are recorded; clone() it first: got {}", h->base.layout());
}

}  // namespace pyburn::autograd
