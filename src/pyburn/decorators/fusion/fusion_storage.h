// The storage of tensors on a fusion device: an identity now, memory of the inner backend once it has been computed.
#pragma once
#include "pyburn/tensor/dtype.h"
#include "pyburn/tensor/storage.h"

namespace pyburn {

class FusionStorage final : public Storage {
 public:
  enum class Pending : uint8_t { no, read, written };  // what the queue has yet to do with it

  FusionStorage(Backend* owner, DType dtype, int64_t elements, Ref<Storage> inner = {})
      : Storage(owner, bytes_of(dtype, elements)), dtype(dtype), elements(elements), inner_(inner.detach()) {}

  // Set and cleared under the queue's mutex. Read without it: a thread sees its own operations in order, and what
  // another thread queued becomes visible with the tensor that it hands over.
  std::atomic<Pending> pending{Pending::no};

  // Guarded by the queue's mutex while pending.
  int32_t slot = -1;  // index in the queue's table, or -1
  const DType dtype;
  const int64_t elements;

  // Memory of the inner backend. Null until the first operation that reads or writes it has run.
  Storage* inner() const { return inner_.load(std::memory_order_acquire); }
  // The same, made by `make` where there is none. Threads may read a tensor that nobody wrote at the same time: all get the memory of the
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
