// The autograd state of a tensor: its node in the graph, its gradient, and, for views, the path from the base.
#pragma once
#include "pyburn/decorators/autodiff/node.h"

namespace pyburn::autograd {

struct History final : AutogradMeta {
  Ref<Node> node;  // null for leaves
  int32_t output = 0;
  AccumulateGrad* accumulator = nullptr;           // weak reference; see accumulator_of
  TensorHandle grad;                               // of a leaf
  Ref<GradBox> retained;                           // of a non-leaf tensor, after retain_grad()
  std::unique_ptr<std::vector<OutputHook>> hooks;  // of a leaf

  uint32_t generation = 0;          // for a base: incremented by every recorded write to it or to one of its views
  TensorHandle base;                // set on views
  SmallVector<Operation, 2> chain;  // from the base to this view
  uint32_t base_generation = 0;     // if different from the base's, the node must be rebuilt
  bool made_without_grad = false;   // a view created under no_grad

  void visit_references(ReferenceVisitor& v) const;
};

History* history_of(const TensorHandle& t);  // null if there is none
History& ensure_history(const TensorHandle& t);

bool is_view(const TensorHandle& t);
bool is_leaf(const TensorHandle& t);
// Does t take part in differentiation? Also true for a view whose base has been written with a history.
bool wants_gradient(const TensorHandle& t);
Edge edge_of(const TensorHandle& t);  // no node if t does not require a gradient
Ref<AccumulateGrad> accumulator_of(const TensorHandle& leaf);

void keep_gradient(Node& node, int32_t output, Ref<GradBox> box);  // gradient of its output, in each backward pass

// Makes out[i] the results of `node`. `written`: out existed before; the base of a view gets a CopySlices node.
void set_history(const Ref<Node>& node, const TensorHandle& out, int32_t output, bool written);
void record_view(OpRef op, const TensorHandle& input, const TensorHandle& out);
void forget_base(const TensorHandle& view);     // keeps the history, but is no longer a view
void refuse_write(const TensorHandle& target);  // GradientError for leaves that require grad, and views that must not be written

}  // namespace pyburn::autograd
