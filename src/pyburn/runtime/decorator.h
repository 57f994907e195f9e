// Decorator: a backend that wraps another one and forwards whatever it does not change.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

class Decorator : public Backend {
 public:
  explicit Decorator(Ref<Backend> inner) : inner_(std::move(inner)) {}

  // Forwards everything; operations that the inner backend does not support are decomposed below this decorator.
  KernelSupport support(const OpInfo&, DType) const override { return KernelSupport::native; }
  Capabilities capabilities() const override {
    Capabilities c = inner_->capabilities();
    c.byte_views = false;  // this decorator may need to see the parts
    return c;
  }
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return inner_->allocate(dtype, elements); }
  void upload(const HostArray& from, const TensorHandle& to) override { inner_->upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override { inner_->download(from, to); }
  void synchronize() override { inner_->synchronize(); }
  MemoryStatistics memory() const override { return inner_->memory(); }
  Backend* inner() const final { return inner_.get(); }
  bool sees_views() const override { return true; }
  bool owns_storage() const override { return false; }

 protected:
  const Ref<Backend> inner_;
};

}  // namespace pyburn
