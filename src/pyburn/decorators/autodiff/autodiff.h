// autodiff(inner): records operations whose inputs require gradients, and passes everything on. Free if no input requires a gradient.
#pragma once
#include "pyburn/runtime/decorator.h"

namespace pyburn {

class Autodiff final : public Decorator {
 public:
  using Decorator::Decorator;
  void execute(OpRef op, Inputs in, Outputs out) override;
  Capabilities capabilities() const override { return inner_->capabilities(); }  // bit operations have no gradient
  std::string name() const override { return "autodiff(" + inner_->name() + ")"; }
  void check_write(Inputs in, Outputs out) const override;
  void forget_base(const TensorHandle& view) const override;
};

void register_autodiff();

}  // namespace pyburn
