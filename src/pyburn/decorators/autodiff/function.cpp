#include "pyburn/decorators/autodiff/function.h"

#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/selection.h"
#include "pyburn/support/error.h"

namespace pyburn::autograd {
namespace {

class FunctionNode final : public Node {
 public:
  FunctionNode(std::string name, const Tensors& inputs, int64_t outputs, BackwardFunction backward, Ref<HostReferences> held)
      : name_(std::move(name)), outputs_(outputs), backward_(std::move(backward)), held_(std::move(held)) {
    for (const TensorHandle& t : inputs) {
      edges.push_back(t.defined() ? edge_of(t) : Edge());
      inputs_.push_back(t.defined() ? Input{t.meta(), &t.device()} : Input());
    }
    number();
  }
  ~FunctionNode() override { weak->expire(); }
  Grads apply(Grads& dy) override {
    dy.resize(outputs_);
    Grads dx = backward_(dy);
    require<GradientError>(dx.size() >= edges.size(), "function {} returned an incorrect number of gradients (expected {}, got {})", name(),
        edges.size(), dx.size());
    for (int64_t i = 0; i < edges.size(); ++i)
      if (dx[i].defined() && edges[i].node) dx[i] = fitted(std::move(dx[i]), i);
    return dx;
  }
  std::string name() const override { return name_ + "Backward"; }
  void visit_references(ReferenceVisitor& v) const override {
    Node::visit_references(v);
    if (held_) v.host(*held_);
  }
  const Ref<WeakNode> weak = make_ref<WeakNode>(this);

 private:
  struct Input {
    Meta meta;
    Device* device = nullptr;
  };

  // The gradient as the input needs it: summed where the function broadcast the input, and in its dtype.
  TensorHandle fitted(TensorHandle g, int64_t i) const {
    const auto& [meta, device] = inputs_[i];
    auto refuse = [&](const std::string& what) {
      fail<GradientError>("Function {} returned an invalid gradient at index {} - {}", name(), i, what);
    };
    if (&g.device() != device) refuse(format("expected device {} but got {}", *device, g.device()));
    if (g.shape() != meta.shape) {
      if (!broadcasts_to(meta.shape, g.shape())) refuse(format("got {} but expected shape compatible with {}", g.shape(), meta.shape));
      g = fn::sum_to_size(g, meta.shape);
    }
    return g.dtype() == meta.dtype ? g : fn::cast(g, meta.dtype);
  }
  static bool broadcasts_to(const Shape& from, const Shape& to) {
    const int more = to.rank() - from.rank();
    for (int i = 0; more >= 0 && i < from.rank(); ++i)
      if (from[i] != 1 && from[i] != to[i + more]) return false;
    return more >= 0;
  }

  std::string name_;
  SmallVector<Input, 3> inputs_;
  int64_t outputs_;
  BackwardFunction backward_;
  Ref<HostReferences> held_;
};

}  // namespace

Ref<Node> WeakNode::lock() const {
  const std::lock_guard lock(mutex_);
  return node_ && node_->try_retain() ? Ref<Node>::adopt(node_) : Ref<Node>();
}
void WeakNode::expire() {
  const std::lock_guard lock(mutex_);
  node_ = nullptr;
}

Ref<WeakNode> attach_function(std::string name, const Tensors& inputs, const Tensors& outputs, BackwardFunction backward,
    const std::vector<bool>& written, Ref<HostReferences> held) {
  const Ref<FunctionNode> node(new FunctionNode(std::move(name), inputs, outputs.size(), std::move(backward), std::move(held)));
  for (int64_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined()) set_history(node, outputs[i], int32_t(i), size_t(i) < written.size() && written[size_t(i)]);
  return node->weak;
}

}  // namespace pyburn::autograd
