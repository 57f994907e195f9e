// Backend: an object that runs operations. Leaves own memory; decorators hold another backend.
#pragma once
#include <string>

#include "pyburn/ir/operation.h"

namespace pyburn {

enum class KernelSupport : uint8_t { none, native };

struct MemoryStatistics {
  int64_t in_use = 0, reserved = 0, peak = 0;  // bytes
};

// Contiguous host memory.
struct HostArray {
  void* data;
  Meta meta;
  int64_t bytes() const { return meta.shape.numel() * size_of(meta.dtype); }
};

class Backend : public Counted {
 public:
  // Runs op. Inputs are valid: the door has checked, promoted and broadcast them. Each output is defined; its storage
  // has been made by allocate() unless the op is dynamic, where the backend also makes the tensors.
  virtual void execute(OpRef op, Inputs in, Outputs out) = 0;
  // May execute() be given this op, with this dtype of its key input? Asked once, then cached.
  virtual KernelSupport support(const OpInfo& op, DType key) const = 0;
  virtual Ref<Storage> allocate(DType dtype, int64_t elements) = 0;
  virtual void upload(const HostArray& from, const TensorHandle& to) = 0;    // `to` is contiguous and fresh
  virtual void download(const TensorHandle& from, const HostArray& to) = 0;  // any layout
  virtual void synchronize() {}
  virtual MemoryStatistics memory() const { return {}; }
  virtual std::string name() const = 0;

  // Decorators only.
  virtual Backend* inner() const { return nullptr; }
  virtual bool sees_views() const { return false; }   // execute() is also given views
  virtual bool owns_storage() const { return true; }  // run() calls allocate() for fresh outputs
  // Throws where outputs that exist must not be written. Asked before anything changes, the version included.
  virtual void check_write(Inputs in, Outputs out) const {
    if (const Backend* below = inner()) below->check_write(in, out);
  }
  virtual void forget_base(const TensorHandle& view) const {  // see independent() in run.h
    if (const Backend* below = inner()) below->forget_base(view);
  }

  // The cached answer of support(); see run.cpp.
  bool supports(const OpInfo& op, DType key);

 protected:
  ~Backend() override;

 private:
  struct Routes;
  std::atomic<Routes*> routes_{nullptr};
};

}  // namespace pyburn
