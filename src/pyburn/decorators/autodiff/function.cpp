#include "pyburn/decorators/autodiff/function.h"

#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/support/error.h"

namespace pyburn::autograd {
namespace {

class FunctionNode final : public Node {
 public:
  FunctionNode(std::string name, const Tensors& inputs, int64_t outputs, BackwardFunction backward)
      : name_(std::move(name)), outputs_(outputs), backward_(std::move(backward)) {
    for (const TensorHandle& t : inputs) edges.push_back(t.defined() ? edge_of(t) : Edge());
    number();
  }
  Grads apply(Grads& dy) override {
    dy.resize(outputs_);
    Grads dx = backward_(dy);
    require<GradientError>(dx.size() >= edges.size(), "function {} returned {} gradients for {} inputs", name_, dx.size(), edges.size());
    return dx;
  }
  std::string name() const override { return name_ + "Backward"; }

 private:
  std::string name_;
  int64_t outputs_;
  BackwardFunction backward_;
};

}  // namespace

void attach_function(
    std::string name, const Tensors& inputs, const Tensors& outputs, BackwardFunction backward, const std::vector<bool>& written) {
  const Ref<Node> node(new FunctionNode(std::move(name), inputs, outputs.size(), std::move(backward)));
  for (int64_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined()) set_history(node, outputs[i], int32_t(i), size_t(i) < written.size() && written[size_t(i)]);
}

}  // namespace pyburn::autograd
