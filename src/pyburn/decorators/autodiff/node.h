// The tape: nodes know how to turn gradients of their outputs into gradients of their inputs.
#pragma once
#include <memory>
#include <vector>

#include "pyburn/ir/operation.h"

namespace pyburn::autograd {

class Node;
struct GradBox;
struct History;

// Something of the tape that holds objects of a host language, such as the functions of a Python program.
class HostReferences : public Counted {
 public:
  virtual void visit_host(void (*visit)(void* object, void* with), void* with) const { (void)visit, (void)with; }
};

// Is shown what an object of the tape keeps alive, one call per reference. Garbage collectors of host languages look through the tape in
// this way: the tape counts references and does not find cycles.
class ReferenceVisitor {
 public:
  virtual void tensor(const TensorHandle& t) = 0;
  virtual void node(const Node& node) = 0;
  virtual void box(const GradBox& box) = 0;
  virtual void host(const HostReferences& references) = 0;

 protected:
  ~ReferenceVisitor() = default;
};

// Where a gradient goes: output `output` of `node`. No node: nobody wants it.
struct Edge {
  Ref<Node> node;
  int32_t output = 0;
};

// A user's function on a gradient that passes by; may replace it by one of the same shape, dtype and device.
class Hook : public HostReferences {
 public:
  virtual TensorHandle call(const TensorHandle& gradient) = 0;  // undefined: keep it as it is
  virtual std::string name() const { return "hook"; }           // for errors
};
struct OutputHook {
  static constexpr int32_t kAfter = -1;  // of a leaf: called with the leaf when its .grad has grown
  int32_t output;
  int64_t id;
  Ref<Hook> hook;
};

// GradientError unless a hook left shape, dtype and device of a gradient as they were.
void check_hook_result(const std::string& hook, const TensorHandle& before, const TensorHandle& after);

// Where the gradient of a tensor that is no leaf is kept after retain_grad().
struct GradBox : Counted {
  TensorHandle grad;
};
struct RetainedGrad {
  int32_t output;
  Ref<GradBox> box;
};

// A user's function on a whole node: what reaches it, and what it makes of that.
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
  // Gradients of the outputs in, of the inputs out (one per edge, undefined where there is none).
  virtual Grads apply(Grads& dy) = 0;
  virtual std::string name() const = 0;  // as PyTorch names it: "AddBackward0"
  virtual void release_saved() {}        // after a backward pass that does not keep the graph
  // A view of a part of its input adds its gradient to a sum for the whole, instead of making a whole of zeros around it. False
  // where the node is something else. `sum` belongs to the pass alone; undefined counts as zeros.
  virtual bool add_part(TensorHandle& sum, const Grads& dy) const { return (void)sum, (void)dy, false; }
  virtual void visit_references(ReferenceVisitor& v) const;

  SmallVector<Edge, 3> edges;
  // Grows along every path from inputs to outputs, so that the largest first is a valid order for backward.
  uint64_t sequence = 0;
  bool is_leaf = false;  // AccumulateGrad: older than every node that uses it
  std::unique_ptr<std::vector<OutputHook>> hooks;
  std::unique_ptr<std::vector<RetainedGrad>> retained;  // filled after all hooks on the same output
  std::unique_ptr<std::vector<NumberedNodeHook>> node_hooks;
  std::unique_ptr<std::string> made_at;  // anomaly detection: the user's line
  void* host_object = nullptr;           // bindings only: the node as an object of the host language, while there is one

 protected:
  void number();  // call when the edges are complete
  static uint64_t next_number();
  void destroy() const noexcept override;  // iterative: a chain of a million nodes is no recursion

 private:
  mutable const Node* next_dead_ = nullptr;
};

// A tensor in the form that a user's function gave it, until it is needed.
class PackedTensor : public HostReferences {
 public:
  virtual TensorHandle unpack() const = 0;
};

// A tensor kept for backward: not the tensor itself, which would make cycles.
struct SavedTensor {
  Ref<Storage> storage;      // null where it is packed
  Ref<PackedTensor> packed;  // where a SavedTensorHooks was there when it was kept
  Layout layout;
  Device* device = nullptr;
  uint32_t version = 0;
  DType dtype = DType::float32;

  SavedTensor() = default;
  explicit SavedTensor(const TensorHandle& t);
  bool defined() const { return storage || packed; }
  // The tensor again, with `edge` as its history. GradientError when it was written in the meantime.
  TensorHandle unpack(const Edge& edge) const;
};

// The node of an operation with a gradient rule.
class OpNode final : public Node {
 public:
  // Before the operation runs: keeps what the rule will read of the inputs.
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
  SmallVector<Meta, 1> outputs_;  // only where there are several
  SmallVector<SavedTensor, 3> saved_inputs_;
  SmallVector<SavedTensor, 1> saved_outputs_;
  bool keeps_outputs_ = false;
  bool released_ = false;
};

// A gradient as it lies in memory where it is handed out: as its leaf does.
TensorHandle laid_out_as(const TensorHandle& leaf, const TensorHandle& gradient);

// Adds the gradient to a leaf's .grad.
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

// A write into a part of a base: `chain` leads from the base to the part that `write` computed.
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

// A write whose result depends on nothing that is differentiated: gradients end here.
class Overwrite final : public Node {
 public:
  Overwrite() { number(); }
  Grads apply(Grads&) override { return {}; }
  std::string name() const override { return "OverwriteBackward"; }
};

}  // namespace pyburn::autograd
