// Storages whose elements several processes see.
#pragma once
#include <memory>

#include "pyburn/tensor/storage.h"

namespace pyburn::cpu {

// An anonymous file and its mapping. No name leads to it, so nothing is left behind when the last process that maps it ends, however it
// ends.
class SharedSegment {
 public:
  explicit SharedSegment(int64_t bytes);
  explicit SharedSegment(int descriptor);  // of another segment; duplicated
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

// Memory of the CPU. share() moves the elements into a segment; all tensors on the storage follow.
class HostStorage : public Storage {
 public:
  using Storage::Storage;
  ~HostStorage() override;
  void share();
  const SharedSegment* segment() const { return segment_.get(); }

 protected:
  HostStorage(Backend* owner, std::unique_ptr<SharedSegment> segment);
  virtual void free_memory(void* first) noexcept = 0;  // the memory that the storage was made with
  void* first_memory() const { return segment_ ? kept_ : host; }

 private:
  std::unique_ptr<SharedSegment> segment_;
  void* kept_ = nullptr;  // the first memory, where others than tensors may look at it
};

// DeviceError for storages that are not memory of the CPU.
void share_memory(Storage&);
const SharedSegment* segment_of(const Storage&);  // null where it is not shared
// The storage on the segment of a descriptor that came from another process; the same one while it lives.
Ref<Storage> map_shared_memory(int descriptor);

}  // namespace pyburn::cpu
