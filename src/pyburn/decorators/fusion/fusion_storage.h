// The storage of tensors on a fusion device: an identity until it is computed, then memory of the inner backend.
#pragma once
#include "pyburn/tensor/dtype.h"
#include "pyburn/tensor/storage.h"

namespace pyburn {

class FusionStorage final : public Storage {
 public:
  enum class Pending : uint8_t { no, read, written };  // pending operations of the queue on it

  FusionStorage(Backend* owner, DType dtype, int64_t elements, Ref<Storage> inner = {})
      : Storage(owner, bytes_of(dtype, elements)), dtype(dtype), elements(elements), inner_(inner.detach()) {}

  // Set and cleared under the queue's mutex. Read without it: a thread sees its own operations in order, and operations queued by another
  // thread become visible with the tensor that it passes on.
  std::atomic<Pending> pending{Pending::no};

  // Guarded by the queue's mutex while pending.
  int32_t slot = -1;  // index in the queue's table, or -1
  const DType dtype;
  const int64_t elements;

  // Memory of the inner backend. Null until the first operation that reads or writes it has run.
  Storage* inner() const { return inner_.load(std::memory_order_acquire); }
  // As above, created by `make` if missing. Several threads may read a tensor that was never written: all get the memory created by the
  // first.
  template <class Make>
  Ref<Storage> inner_or(Make make) {
    if (Storage* known = inner()) return Ref<Storage>(known);
    Ref<Storage> fresh = make();
    Storage* known = nullptr;
    if (!inner_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return Ref<Storage>(known);
    fresh->retain();  // for inner_
    return fresh;
  }

 protected:
  ~FusionStorage() override { Ref<Storage>::adopt(inner()); }

 private:
  std::atomic<Storage*> inner_;  // holds a reference
};

}  // namespace pyburn
