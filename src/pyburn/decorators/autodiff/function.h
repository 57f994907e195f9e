// Functions with a gradient of the program's own.
//
//   const Tensor y = [&] { const autograd::NoGrad no_grad; return round(x); }();
//   autograd::attach_function("RoundStraight", {x}, {y}, [](const Grads& dy) { return dy; });
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "pyburn/decorators/autodiff/node.h"

namespace pyburn::autograd {

// A reference to a node that does not keep it alive: what a function saves must not keep the function.
class WeakNode : public Counted {
 public:
  explicit WeakNode(Node* node) : node_(node) {}
  Ref<Node> lock() const;  // null when the node is gone
  void expire();           // by the node, when it dies

 private:
  mutable std::mutex mutex_;
  Node* node_;
};

using BackwardFunction = std::function<Grads(const Grads& dy)>;

// Makes `outputs`, which were computed from `inputs` without being recorded, results of one step of the graph. `backward` turns their
// gradients, undefined where none came, into those of `inputs`, undefined where there is none. What it does is recorded where the
// gradients are to be differentiated again. Undefined inputs and outputs are passed over; `written` are outputs that existed before.
// `held` is what `backward` holds of a host language. Returns the step.
Ref<WeakNode> attach_function(std::string name, const Tensors& inputs, const Tensors& outputs, BackwardFunction backward,
    const std::vector<bool>& written = {}, Ref<HostReferences> held = {});

}  // namespace pyburn::autograd
