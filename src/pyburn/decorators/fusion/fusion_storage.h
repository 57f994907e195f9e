// The storage of tensors on a fusion device: an identity now, memory of the inner backend once it has been computed.
#pragma once
#include "pyburn/tensor/dtype.h"
#include "pyburn/tensor/storage.h"

namespace pyburn {

class FusionStorage final : public Storage {
 public:
  enum class Pending : uint8_t { no, read, written };  // what the queue has yet to do with it

  FusionStorage(Backend* owner, DType dtype, int64_t elements, Ref<Storage> inner = {})
      : Storage(owner, bytes_of(dtype, elements)), dtype(dtype), elements(elements), inner(std::move(inner)) {}

  // Set and cleared under the queue's mutex. Read without it: a thread sees its own operations in order, and what
  // another thread queued becomes visible with the tensor that it hands over.
  std::atomic<Pending> pending{Pending::no};

  // Guarded by the queue's mutex while pending.
  int32_t slot = -1;  // index in the queue's table, or -1
  const DType dtype;
  const int64_t elements;
  Ref<Storage> inner;  // null until the first operation that writes it has run
};

}  // namespace pyburn
