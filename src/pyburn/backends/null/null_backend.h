// The null (meta) backend: runs every operation without data. Shapes, dtypes, layouts and errors are computed, values are not.
#pragma once
#include <functional>

#include "pyburn/runtime/backend.h"

namespace pyburn {

class NullBackend final : public Backend {
 public:
  // With `like`, decomposes the same operations as that backend, so that layouts agree.
  // `unknown_extent` returns sizes for extents that depend on values, one at a time; without it, such operations raise CaptureError.
  explicit NullBackend(Ref<Backend> like = {}, std::function<int64_t()> unknown_extent = {})
      : like_(std::move(like)), unknown_extent_(std::move(unknown_extent)) {}

  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo& op, DType key) const override;
  bool supports_call(OpRef op, Inputs in, Outputs out) const override { return like_->supports(op, in, out); }
  Capabilities capabilities() const override { return {.values = false}; }
  Ref<Storage> allocate(DType dtype, int64_t elements) override;
  void upload(const HostArray&, const TensorHandle&) override {}
  void download(const TensorHandle& from, const HostArray& to) override;
  std::string name() const override { return "meta"; }

 private:
  void make_results(OpRef op, Inputs in, Outputs out);
  Ref<Backend> like_;
  std::function<int64_t()> unknown_extent_;
};

void register_null_backend();

}  // namespace pyburn
