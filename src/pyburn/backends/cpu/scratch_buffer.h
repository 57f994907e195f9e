// Temporary memory of a kernel: uninitialised, 64-byte aligned, from the allocator's cache.
#pragma once
#include "pyburn/runtime/allocator.h"

namespace pyburn::cpu {

template <class T>
class ScratchBuffer {
 public:
  explicit ScratchBuffer(int64_t elements) : bytes_(elements * int64_t(sizeof(T))), data_(static_cast<T*>(host_allocate(bytes_))) {}
  ~ScratchBuffer() { host_free(data_, bytes_); }
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;
  T* data() { return data_; }

 private:
  int64_t bytes_;
  T* data_;
};

}  // namespace pyburn::cpu
