// Caches values computed from the elements of a tensor, such as packed weights, while the elements are unchanged. Stored on the storage,
// one entry at a time.
#pragma once
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

struct Derived final : Counted {
  explicit Derived(int64_t bytes) : buffer(bytes) {}
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(buffer.data());
  }
  ScratchBuffer<std::byte> buffer;
  uint32_t writes = 0;
  Layout layout;  // version of the tensor it was computed from
  DType dtype = DType::float32;
  Dims key;  // what else the value depends on
};

ForkSafeMutex& derived_mutex();

// The elements that make(T*) computes from x, cached under a key. Storage that others can modify unnoticed is not cached.
template <class T, class Make>
Ref<Derived> derived_from(const TensorHandle& x, const Dims& key, int64_t elements, Make make) {
  Storage& storage = *x.storage();
  const uint32_t writes = storage.writes();
  {
    const std::lock_guard lock(derived_mutex());
    if (storage.derived && !storage.exposed) {
      auto& kept = static_cast<Derived&>(*storage.derived);
      if (kept.writes == writes && kept.key == key && kept.dtype == x.dtype() && kept.layout == x.layout()) return Ref<Derived>(&kept);
    }
  }
  Ref<Derived> fresh(new Derived(elements * int64_t(sizeof(T))));
  fresh->writes = writes;
  fresh->layout = x.layout();
  fresh->dtype = x.dtype();
  fresh->key = key;
  make(fresh->data<T>());
  const std::lock_guard lock(derived_mutex());
  if (!storage.exposed) storage.derived = fresh;
  return fresh;
}

}  // namespace pyburn::cpu
