// The tape: nodes that compute gradients of their inputs from gradients of their outputs.
#pragma once
#include <memory>
#include <vector>

#include "pyburn/ir/operation.h"

namespace pyburn::autograd {

class Node;
struct GradBox;
struct History;

// A tape object that references objects of a host language, such as functions of a Python program.
class HostReferences : public Counted {
 public:
  virtual void visit_host(void (*visit)(void* object, void* with), void* with) const { (void)visit, (void)with; }
};

// Visits what a tape object keeps alive, one call per reference. Garbage collectors of host languages use it to traverse the tape, because
// the tape counts references and does not detect cycles.
class ReferenceVisitor {
 public:
  virtual void tensor(const TensorHandle& t) = 0;
  virtual void node(const Node& node) = 0;
  virtual void box(const GradBox& box) = 0;
  virtual void host(const HostReferences& references) = 0;

 protected:
  ~ReferenceVisitor() = default;
};

// The destination of a gradient: output `output` of `node`. No node: the gradient is dropped.
struct Edge {
  Ref<Node> node;
  int32_t output = 0;
};

// A user's hook on a gradient; may replace it by one of the same shape, dtype and device.
class Hook : public HostReferences {
 public:
  virtual TensorHandle call(const TensorHandle& gradient) = 0;  // undefined: keep the gradient unchanged
  virtual std::string name() const { return "hook"; }           // for errors
};
struct OutputHook {
  static constexpr int32_t kAfter = -1;  // for leaves: called with the leaf after its .grad was accumulated
  int32_t output;
  int64_t id;
  Ref<Hook> hook;
};

// GradientError unless a hook preserved shape, dtype and device of a gradient.
void check_hook_result(const std::string& hook, const TensorHandle& before, const TensorHandle& after);

// Stores the gradient of a non-leaf tensor after retain_grad().
struct GradBox : Counted {
  TensorHandle grad;
};
struct RetainedGrad {
  int32_t output;
  Ref<GradBox> box;
};

// A user's hook on a whole node: called with its incoming gradients, and with its results.
class NodeHook : public HostReferences {
 public:
  virtual void before(Grads& dy) { (void)dy; }
  virtual void after(Grads& dx, const Grads& dy) { (void)dx, (void)dy; }
};
struct NumberedNodeHook {
  int64_t id;
  Ref<NodeHook> hook;
};

class Node : public Counted, public Pooled {
 public:
  ~Node() override;
  // Maps gradients of the outputs to gradients of the inputs (one per edge, undefined if there is none).
  virtual Grads apply(Grads& dy) = 0;
  virtual std::string name() const = 0;  // PyTorch's name: "AddBackward0"
  virtual void release_saved() {}        // after a backward pass that does not keep the graph
  // A view of a part of its input adds its gradient to a shared sum, instead of creating a zero tensor of full size. Returns false for
  // other nodes. `sum` belongs to the pass alone; undefined counts as zeros.
  virtual bool add_part(TensorHandle& sum, const Grads& dy) const { return (void)sum, (void)dy, false; }
  virtual void visit_references(ReferenceVisitor& v) const;

  SmallVector<Edge, 3> edges;
  // Increases along every path from inputs to outputs, so that decreasing order is valid for backward.
  uint64_t sequence = 0;
  bool is_leaf = false;  // AccumulateGrad: older than every node that uses it
  std::unique_ptr<std::vector<OutputHook>> hooks;
  std::unique_ptr<std::vector<RetainedGrad>> retained;  // filled after all hooks on the same output
  std::unique_ptr<std::vector<NumberedNodeHook>> node_hooks;
  std::unique_ptr<std::string> made_at;  // anomaly detection: the user's source line
  void* host_object = nullptr;           // bindings only: the node's object in the host language, if there is one

 protected:
  void number();  // call when the edges are complete
  static uint64_t next_number();
  void destroy() const noexcept override;  // iterative: destroying a chain of a million nodes does not recurse

 private:
  mutable const Node* next_dead_ = nullptr;
};

// A saved tensor in the form that a user's pack hook returned.
class PackedTensor : public HostReferences {
 public:
  virtual TensorHandle unpack() const = 0;
};

// A tensor saved for backward, without a reference to the tensor itself, which would make cycles.
struct SavedTensor {
  Ref<Storage> storage;      // null if it is packed
  Ref<PackedTensor> packed;  // set if SavedTensorHooks were active when it was saved
  Layout layout;
  Device* device = nullptr;
  uint32_t version = 0;
  DType dtype = DType::float32;

  SavedTensor() = default;
  explicit SavedTensor(const TensorHandle& t);
  bool defined() const { return storage || packed; }
  // Returns the tensor with `edge` as its history. GradientError if it was written in the meantime.
  TensorHandle unpack(const Edge& edge) const;
};

// The node of an operation with a gradient rule.
class OpNode final : public Node {
 public:
  // Before the operation runs: saves the inputs that the rule reads.
  OpNode(OpRef op, Inputs in, Outputs targets, Backend& inner);
  // A view that is rebuilt from its base.
  OpNode(const Operation& view, const Meta& input, Edge edge);
  void save_outputs(Outputs out);

  Grads apply(Grads& dy) override;
  std::string name() const override;
  void release_saved() override;
  bool add_part(TensorHandle& sum, const Grads& dy) const override;
  void visit_references(ReferenceVisitor& v) const override;

 private:
  friend class RuleContext;
  void check_gradients(const Grads& dx) const;
  Operation op_;
  SmallVector<Meta, 3> inputs_;
  SmallVector<Meta, 1> outputs_;  // only if there are several
  SmallVector<SavedTensor, 3> saved_inputs_;
  SmallVector<SavedTensor, 1> saved_outputs_;
  bool keeps_outputs_ = false;
  bool released_ = false;
};

// A gradient in the layout in which it is returned: that of its leaf.
TensorHandle laid_out_as(const TensorHandle& leaf, const TensorHandle& gradient);

// Adds the gradient to the .grad of a leaf.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(TensorHandle leaf) : leaf_(std::move(leaf)) {
    is_leaf = true;
    sequence = next_number();
  }
  ~AccumulateGrad() override;
  Grads apply(Grads& dy) override;
  std::string name() const override { return "AccumulateGrad"; }
  void visit_references(ReferenceVisitor& v) const override;
  const TensorHandle& leaf() const { return leaf_; }
  bool may_close_cycle = false;  // see gradient_cycles.h

 private:
  TensorHandle leaf_;
};

// A write to a part of a base: `chain` leads from the base to the part that `write` computed.
class CopySlices final : public Node {
 public:
  CopySlices(Edge base, const TensorHandle& base_tensor, const SmallVector<Operation, 2>& chain, Ref<Node> write);
  Grads apply(Grads& dy) override;
  std::string name() const override { return "CopySlices"; }
  void release_saved() override { write_->release_saved(); }
  void visit_references(ReferenceVisitor& v) const override;

 private:
  Layout layout_;
  SmallVector<Operation, 2> chain_;
  Ref<Node> write_;
};

// A write whose result does not depend on any differentiated tensor: gradients stop here.
class Overwrite final : public Node {
 public:
  Overwrite() { number(); }
  Grads apply(Grads&) override { return {}; }
  std::string name() const override { return "OverwriteBackward"; }
};

}  // namespace pyburn::autograd
