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

void NullBackend::execute(OpRef op, Inputs in, Outputs out) {
  if (op.info->kind == Kind::dynamic) make_results(op, in, out);
}

void NullBackend::make_results(OpRef op, Inputs in, Outputs out) {
  MetaList results;
  if (op.info->infer) {
    SmallVector<Meta, 4> metas;
    for (const TensorHandle* t : in) metas.push_back(t->defined() ? t->meta() : Meta{});
    op.info->infer(op, {metas.data(), size_t(metas.size())}, results);
    require<ValueError>(
        results.size() == int64_t(out.size()), "wrong number of outputs: got {} for {}", int64_t(out.size()), results.size());
  }
  bool known = !results.empty();
  for (Meta& m : results)
    for (int64_t& d : m.shape)
      if (d < 0 && unknown_extent_) d = unknown_extent_();
      else known = known && d >= 0;
  if (!known) fail<CaptureError>("the result's size depends on values, which are not known here: got an input of {}", in[0]->shape());
  for (size_t k = 0; k < out.size(); ++k) {
    const Meta& m = results[int64_t(k)];
    const int64_t elements = checked_numel(m.shape);
    out[k] = make_tensor(in[0]->device(), m.dtype, contiguous_layout(m.shape), allocate(m.dtype, elements));
  }
}

// Alone, it has a kernel for every primitive. What decomposes does so, because a decomposition may give a view
// (reshape), and a view must stay one.
KernelSupport NullBackend::support(const OpInfo& op, DType key) const {
  if (op.kind == Kind::dynamic && op.infer) return KernelSupport::native;
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
