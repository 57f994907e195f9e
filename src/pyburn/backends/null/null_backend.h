// The null (meta) backend: runs every operation without data. Shapes, dtypes, layouts and errors are computed, values are not.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

class NullBackend final : public Backend {
 public:
  // With `like`, decomposes the same operations as that backend, so that layouts agree.
  explicit NullBackend(Ref<Backend> like = {}) : like_(std::move(like)) {}

  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo& op, DType key) const override;
  bool supports_call(OpRef op, Inputs in, Outputs out) const override { return like_->supports(op, in, out); }
  Capabilities capabilities() const override { return {.values = false}; }
  Ref<Storage> allocate(DType dtype, int64_t elements) override;
  void upload(const HostArray&, const TensorHandle&) override {}
  void download(const TensorHandle& from, const HostArray& to) override;
  std::string name() const override { return "meta"; }

 private:
  Ref<Backend> like_;
};

void register_null_backend();

}  // namespace pyburn
