// Router: runs an operation on the primary backend, or on a fallback if the primary has no kernel for it. Tensors are stored on the
// primary; the inputs and results of the fallback are copied.
#pragma once
#include "pyburn/runtime/decorator.h"
#include "pyburn/runtime/inner_device.h"

namespace pyburn {

class Router final : public Decorator {
 public:
  Router(Ref<Backend> primary, Ref<Backend> fallback);

  void execute(OpRef op, Inputs in, Outputs out) override;
  // Decomposition is tried before the fallback; its parts are routed one by one.
  KernelSupport support(const OpInfo& op, DType key) const override;
  bool supports_call(OpRef op, Inputs in, Outputs out) const override;
  std::string name() const override { return "router(" + primary_->name() + ", " + fallback_->name() + ")"; }
  bool sees_views() const override { return primary_->sees_views(); }

 private:
  const Ref<Backend>& primary_ = inner_;
  Ref<Backend> fallback_;
  InnerDevice fallback_device_;
};

void register_router_backend();

}  // namespace pyburn
