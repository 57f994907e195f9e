// Router: runs an operation on the primary backend, or on a fallback where the primary has no kernel for it. Tensors
// live on the primary; what the fallback needs is copied there and back.
#pragma once
#include "pyburn/runtime/device.h"

namespace pyburn {

class Router final : public Backend {
 public:
  Router(Ref<Backend> primary, Ref<Backend> fallback);

  void execute(OpRef op, Inputs in, Outputs out) override;
  // Before the fallback comes the decomposition, whose parts are routed one by one.
  KernelSupport support(const OpInfo& op, DType key) const override;
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return primary_->allocate(dtype, elements); }
  void upload(const HostArray& from, const TensorHandle& to) override { primary_->upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override { primary_->download(from, to); }
  void synchronize() override { primary_->synchronize(); }
  MemoryStatistics memory() const override { return primary_->memory(); }
  std::string name() const override { return "router(" + primary_->name() + ", " + fallback_->name() + ")"; }
  Backend* inner() const override { return primary_.get(); }
  bool sees_views() const override { return primary_->sees_views(); }
  bool owns_storage() const override { return false; }

 private:
  Ref<Backend> primary_, fallback_;
  Device& fallback_device_;
};

void register_router_backend();

}  // namespace pyburn
