// Moving a tensor to another device as a step of the graph.
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::autograd {
namespace {

class MoveNode final : public Node {
 public:
  explicit MoveNode(const TensorHandle& from) : from_(from.device()) {
    edges.push_back(edge_of(from));
    number();
  }
  Grads apply(Grads& dy) override { return {move_recorded(from_, dy[0])}; }
  std::string name() const override { return "ToCopyBackward0"; }

 private:
  Device& from_;
};

}  // namespace

TensorHandle move_recorded(Device& device, const TensorHandle& t) {
  if (&t.device() == &device) return t;
  TensorHandle moved = moved_to(device, t);
  if (modes().grad && wants_gradient(t)) set_history(Ref<Node>(new MoveNode(t)), moved, 0, false);
  return moved;
}

}  // namespace pyburn::autograd
