// Backend: an object that runs operations. Leaves own memory; decorators wrap another backend.
#pragma once
#include <string>

#include "pyburn/ir/operation.h"

namespace pyburn {

enum class KernelSupport : uint8_t {
  none,
  native,
  depends,  // depends on the attributes, shapes or dtypes of the call: supports_call() is called
  by_row,   // the backend has none, but the row has one that run() calls; support() never returns this
};

// The capabilities of a backend. Code queries these, never a name.
struct Capabilities {
  bool host_memory = false;    // Storage::host is set, and may be accessed as soon as execute() has returned
  bool values = true;          // false on null, which has only shapes and dtypes
  bool asynchronous = false;   // operations may run, and fail, after execute() has returned
  bool byte_views = false;     // view(dtype) may alias the bytes of a storage: no part of the stack needs to see it as an operation
  bool channels_last = false;  // convolutions are faster for channels-last tensors
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

// A repeated call: everything that follows from attributes, dtypes, shapes and strides is precomputed.
class PreparedCall : public Counted {
 public:
  virtual void run() = 0;
};

class Backend : public Counted {
 public:
  // Runs op. Inputs are valid: the door has checked, promoted and broadcast them. Each output is defined, with a storage from allocate()
  // unless the op is dynamic; the backend then creates the tensors, too.
  virtual void execute(OpRef op, Inputs in, Outputs out) = 0;
  // Can execute() run this op with this dtype of its key input? Called once, then cached.
  virtual KernelSupport support(const OpInfo& op, DType key) const = 0;
  // If the answer was `depends`: can execute() run this call? May use attributes, shapes, strides and dtypes, never storages; outputs of
  // dynamic operations are undefined.
  virtual bool supports_call(OpRef op, Inputs in, Outputs out) const;
  // Prepares repeated calls of execute(op, in, out). The tensors outlive the result and keep dtypes, shapes and strides; their storages and
  // offsets may change between runs, and are missing before the first. Null: use execute().
  virtual Ref<PreparedCall> prepare(OpRef op, Inputs in, Outputs out) { return (void)op, (void)in, (void)out, nullptr; }
  virtual Capabilities capabilities() const { return inner() ? inner()->capabilities() : Capabilities{}; }
  virtual Ref<Storage> allocate(DType dtype, int64_t elements) = 0;
  virtual void upload(const HostArray& from, const TensorHandle& to) = 0;    // `to` is contiguous and new
  virtual void download(const TensorHandle& from, const HostArray& to) = 0;  // any layout; see read_elements() in spoiled.h
  // Waits until all pending work is complete. Errors stay with the storages they affected; a lost device raises.
  virtual void synchronize() {}
  virtual MemoryStatistics memory() const { return {}; }
  virtual std::string name() const = 0;

  // Decorators only.
  virtual Backend* inner() const { return nullptr; }
  virtual bool sees_views() const { return false; }   // execute() also receives views
  virtual bool owns_storage() const { return true; }  // run() calls allocate() for new outputs
  // Throws if existing outputs must not be written. Called before anything changes, including the version.
  virtual void check_write(Inputs in, Outputs out) const {
    if (const Backend* below = inner()) below->check_write(in, out);
  }
  virtual void forget_base(const TensorHandle& view) const {  // see independent() in run.h
    if (const Backend* below = inner()) below->forget_base(view);
  }

  // The cached result of support(), or by_row; see run.cpp.
  KernelSupport known_support(const OpInfo& op, DType key) const;
  bool supports(OpRef op, Inputs in, Outputs out) const;

  // Set when the device of the backend is lost: all of its storages then permanently raise this error.
  LateError lost;

 protected:
  ~Backend() override;

 private:
  struct Routes;
  mutable std::atomic<Routes*> routes_{nullptr};
};

// The backend at or below this one that allocates the storages of its tensors.
Backend& storage_maker(Backend&);
// float64, or float32 if the backend does not support it: for precise intermediate results.
DType widest_float(const Backend&);
// For allocate(): DTypeError if the backend cannot store the dtype.
void require_dtype(const Backend&, DType);

}  // namespace pyburn
