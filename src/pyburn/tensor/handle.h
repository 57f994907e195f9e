// TensorHandle: a tensor without the generated methods. Kernels, backends and decorators use this class; users use Tensor (ops/tensor.h),
// which adds the methods and no data.
#pragma once
#include <memory>

#include "pyburn/tensor/dtype.h"
#include "pyburn/tensor/layout.h"
#include "pyburn/tensor/storage.h"

namespace pyburn {

class Device;

struct Meta {
  Shape shape;
  DType dtype = DType::float32;
  bool operator==(const Meta&) const = default;
};

// Interface only: implemented in decorators/autodiff; lower layers do not look inside.
struct AutogradMeta : Pooled {
  virtual ~AutogradMeta() = default;
};

enum class Flag : uint8_t {
  requires_grad = 1,  // a leaf that requires grad, or a result with a history
  parameter = 2,      // created by Parameter(): recognised by optimisers and modules
  untracked = 4,      // `.data`: writes do not increment the storage's version
  inference = 8,      // created under inference_mode: never has a history
};

struct TensorImpl final : Counted, Pooled {
  TensorImpl(Device* device, DType dtype, Layout layout, Ref<Storage> storage = {})
      : dtype(dtype), device(device), storage(std::move(storage)), layout(std::move(layout)) {}
  ~TensorImpl() override;

  DType dtype;
  uint8_t flags = 0;
  Device* device;        // the whole stack, e.g. autodiff(fusion(ndarray)); lives until the process ends
  Ref<Storage> storage;  // null only between the door and the backend that allocates it
  Layout layout;
  std::unique_ptr<AutogradMeta> autograd;  // null on most tensors
  void* py = nullptr;                      // bindings only: the Python object, or what is kept of it after it was released

  static void (*forget_python)(void* py);  // set by the bindings: called when an impl with py != null is destroyed
};

class TensorHandle {
 public:
  TensorHandle() = default;
  explicit TensorHandle(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return bool(impl_); }
  explicit operator bool() const = delete;
  TensorImpl* impl() const { return impl_.get(); }
  bool is_same(const TensorHandle& o) const { return impl_ == o.impl_; }

  const Shape& shape() const { return impl_->layout.shape; }
  const Dims& strides() const { return impl_->layout.strides; }
  const Layout& layout() const { return impl_->layout; }
  int rank() const { return shape().rank(); }
  int64_t numel() const { return shape().numel(); }
  DType dtype() const { return impl_->dtype; }
  Device& device() const { return *impl_->device; }
  Storage* storage() const { return impl_->storage.get(); }
  Meta meta() const { return {shape(), dtype()}; }
  bool has(Flag f) const { return impl_->flags & uint8_t(f); }
  void set(Flag f, bool on = true) const { impl_->flags = on ? impl_->flags | uint8_t(f) : impl_->flags & ~uint8_t(f); }
  bool requires_grad() const { return has(Flag::requires_grad); }

  // Host memory of the first element; cpu storages only.
  template <class T>
  T* data() const {
    return static_cast<T*>(impl_->storage->host) + impl_->layout.offset;
  }

 private:
  Ref<TensorImpl> impl_;
};

inline TensorHandle make_tensor(Device& device, DType dtype, Layout layout, Ref<Storage> storage = {}) {
  return TensorHandle(make_ref<TensorImpl>(&device, dtype, std::move(layout), std::move(storage)));
}
// Another tensor on the same storage.
inline TensorHandle alias(const TensorHandle& x, Layout layout) {
  return make_tensor(x.device(), x.dtype(), std::move(layout), x.impl()->storage);
}

using Inputs = std::span<const TensorHandle* const>;  // an absent optional input is an undefined tensor, never null
using Outputs = std::span<TensorHandle>;              // defined: write to it; without storage: allocate it first

}  // namespace pyburn
