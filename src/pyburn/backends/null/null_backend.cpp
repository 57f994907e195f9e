#include "pyburn/backends/null/null_backend.h"

#include "pyburn/runtime/device_identity.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

class NullStorage final : public Storage {
 public:
  NullStorage(Backend* owner, int64_t bytes) : Storage(owner, bytes, nullptr, false), keep_(owner) {}

 private:
  Ref<Backend> keep_;  // a capture makes its own null, and tensors may outlive it
};

}  // namespace

void NullBackend::execute(OpRef op, Inputs in, Outputs) {
  if (op.info->kind == Kind::dynamic)
    fail<CaptureError>("the result's size depends on values, which are not known here: got an input of {}", in[0]->shape());
}

// Alone, it has a kernel for every primitive. What decomposes does so, because a decomposition may give a view
// (reshape), and a view must stay one.
KernelSupport NullBackend::support(const OpInfo& op, DType key) const {
  if (like_) {
    const KernelSupport there = like_->known_support(op, key);
    return there == KernelSupport::by_row ? KernelSupport::native : there;
  }
  return op.decompose ? KernelSupport::none : KernelSupport::native;
}

Ref<Storage> NullBackend::allocate(DType dtype, int64_t elements) { return Ref<Storage>(new NullStorage(this, bytes_of(dtype, elements))); }

void NullBackend::download(const TensorHandle& from, const HostArray&) {
  fail<CaptureError>("[read] the values of this tensor are not known while capturing or on null: got {} {}", from.dtype(), from.shape());
}

void register_null_backend() {
  register_backend({.name = "meta",
      .aliases = {"null"},
      .doc = "Runs operations without data: shapes and dtypes only.",
      .make = [](auto, std::string_view options) {
        return is_plain("meta", options) ? Ref<Backend>(new NullBackend) : make_backend("meta");
      }});
}

}  // namespace pyburn
