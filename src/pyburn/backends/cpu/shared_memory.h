// Storages whose elements are shared between processes.
#pragma once
#include <memory>

#include "pyburn/tensor/storage.h"

namespace pyburn::cpu {

// An anonymous memory file and its mapping. It has no name, so nothing is left behind when the last process that maps it ends, even if it
// is killed.
class SharedSegment {
 public:
  explicit SharedSegment(int64_t bytes);
  explicit SharedSegment(int descriptor);  // descriptor of an existing segment; duplicated
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }

 private:
  void map();
  int descriptor_ = -1;
  int64_t bytes_ = 0;
  void* data_ = nullptr;
};

// CPU memory. share() moves the elements into a segment; all tensors on the storage follow.
class HostStorage : public Storage {
 public:
  using Storage::Storage;
  ~HostStorage() override;
  void share();
  const SharedSegment* segment() const { return segment_.get(); }

 protected:
  HostStorage(Backend* owner, std::unique_ptr<SharedSegment> segment);
  virtual void free_memory(void* first) noexcept = 0;  // the memory that the storage was created with
  void* first_memory() const { return segment_ ? kept_ : host; }

 private:
  std::unique_ptr<SharedSegment> segment_;
  void* kept_ = nullptr;  // the original memory, if objects other than tensors may still access it
};

// DeviceError for storages outside CPU memory.
void share_memory(Storage&);
const SharedSegment* segment_of(const Storage&);  // null if it is not shared
// The storage on the segment of a descriptor from another process; the same object while it lives.
Ref<Storage> map_shared_memory(int descriptor);

}  // namespace pyburn::cpu
