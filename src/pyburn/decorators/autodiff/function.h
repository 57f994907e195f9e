// Functions with a user-defined gradient.
//
//   const Tensor y = [&] { const autograd::NoGrad no_grad; return round(x); }();
//   autograd::attach_function("RoundStraight", {x}, {y}, [](const Grads& dy) { return dy; });
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "pyburn/decorators/autodiff/node.h"

namespace pyburn::autograd {

// A reference to a node that does not keep it alive: tensors saved by a function must not keep the function alive.
class WeakNode : public Counted {
 public:
  explicit WeakNode(Node* node) : node_(node) {}
  Ref<Node> lock() const;  // null after the node was destroyed
  void expire();           // called by the node when it is destroyed

 private:
  mutable std::mutex mutex_;
  Node* node_;
};

using BackwardFunction = std::function<Grads(const Grads& dy)>;

// Makes `outputs`, which were computed from `inputs` without recording, the results of one node of the graph. `backward` maps their
// gradients (undefined if none arrived) to those of `inputs` (undefined if there is none); it is recorded if the gradients are to be
// differentiated again. Undefined inputs and outputs are skipped; `written` are outputs that existed before. `held` lists the objects of a
// host language that `backward` references. Returns the node.
Ref<WeakNode> attach_function(std::string name, const Tensors& inputs, const Tensors& outputs, BackwardFunction backward,
    const std::vector<bool>& written = {}, Ref<HostReferences> held = {});

}  // namespace pyburn::autograd
