// Backend: an object that runs operations. Leaves own memory; decorators hold another backend.
#pragma once
#include <string>

#include "pyburn/ir/operation.h"

namespace pyburn {

enum class KernelSupport : uint8_t {
  none,
  native,
  depends,  // on the attributes, shapes or dtypes of the call: supports_call() is asked
  by_row,   // the backend has none, but the row brings one that run() calls; support() never answers so
};

// What a backend is like. Code asks for this, never for a name.
struct Capabilities {
  bool host_memory = false;    // Storage::host is set, and may be read and written as soon as execute() has returned
  bool values = true;          // false on null, which has shapes and dtypes only
  bool asynchronous = false;   // operations may run, and fail, after execute() has returned
  bool byte_views = false;     // view(dtype) may alias the bytes of a storage: no part of the stack must see it as an operation
  bool channels_last = false;  // convolutions are faster on channels-last tensors
  DTypeSet dtypes = DTypeSet::all();
};

struct MemoryStatistics {
  int64_t in_use = 0, reserved = 0, peak = 0;  // bytes
};

// Contiguous host memory.
struct HostArray {
  void* data;
  Meta meta;
  int64_t bytes() const { return bytes_of(meta.dtype, meta.shape.numel()); }
};

// A call that is made again and again: whatever follows from attributes, dtypes, shapes and strides has been done.
class PreparedCall : public Counted {
 public:
  virtual void run() = 0;
};

class Backend : public Counted {
 public:
  // Runs op. Inputs are valid: the door has checked, promoted and broadcast them. Each output is defined; its storage
  // has been made by allocate() unless the op is dynamic, where the backend also makes the tensors.
  virtual void execute(OpRef op, Inputs in, Outputs out) = 0;
  // May execute() be given this op, with this dtype of its key input? Asked once, then cached.
  virtual KernelSupport support(const OpInfo& op, DType key) const = 0;
  // Where the answer was `depends`: may execute() be given this call? Looks at attributes, shapes, strides and dtypes, never at storages;
  // outputs of dynamic operations are undefined.
  virtual bool supports_call(OpRef op, Inputs in, Outputs out) const;
  // For execute(op, in, out) many times over. The tensors outlive the result and keep their dtypes, shapes and strides; their storages and
  // offsets may change between runs, and are missing before the first. Null: execute() is as good.
  virtual Ref<PreparedCall> prepare(OpRef op, Inputs in, Outputs out) { return (void)op, (void)in, (void)out, nullptr; }
  virtual Capabilities capabilities() const { return inner() ? inner()->capabilities() : Capabilities{}; }
  virtual Ref<Storage> allocate(DType dtype, int64_t elements) = 0;
  virtual void upload(const HostArray& from, const TensorHandle& to) = 0;    // `to` is contiguous and fresh
  virtual void download(const TensorHandle& from, const HostArray& to) = 0;  // any layout; see read_elements() in spoiled.h
  // Waits until everything that was asked has been done. Errors stay with the storages they spoiled; a lost device raises.
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

  // The cached answer of support(), or by_row; see run.cpp.
  KernelSupport known_support(const OpInfo& op, DType key) const;
  bool supports(OpRef op, Inputs in, Outputs out) const;

  // Set when the device behind the backend is lost: all of its storages are spoiled by this error, for good.
  LateError lost;

 protected:
  ~Backend() override;

 private:
  struct Routes;
  mutable std::atomic<Routes*> routes_{nullptr};
};

// The backend at or below this one that makes the storages of its tensors.
Backend& storage_maker(Backend&);
// float64, or float32 where the backend has none: for intermediate results that should be exact.
DType widest_float(const Backend&);
// For allocate(): DTypeError where the backend cannot store the dtype.
void require_dtype(const Backend&, DType);

}  // namespace pyburn
