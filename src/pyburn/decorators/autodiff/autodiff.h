// autodiff(inner): records what is differentiated and passes everything on. Costs nothing where no input wants a gradient.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

class Autodiff final : public Backend {
 public:
  explicit Autodiff(Ref<Backend> inner) : inner_(std::move(inner)) {}
  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo&, DType) const override { return KernelSupport::native; }
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return inner_->allocate(dtype, elements); }
  void upload(const HostArray& from, const TensorHandle& to) override { inner_->upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override { inner_->download(from, to); }
  void synchronize() override { inner_->synchronize(); }
  MemoryStatistics memory() const override { return inner_->memory(); }
  std::string name() const override { return "autodiff(" + inner_->name() + ")"; }
  Backend* inner() const override { return inner_.get(); }
  bool sees_views() const override { return true; }
  bool owns_storage() const override { return false; }
  void check_write(Inputs in, Outputs out) const override;
  void forget_base(const TensorHandle& view) const override;

 private:
  Ref<Backend> inner_;
};

void register_autodiff();

}  // namespace pyburn
