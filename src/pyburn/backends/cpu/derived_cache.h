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

// The cached result for x and this key; null if there is none or x has been written to since.
inline Ref<Derived> kept_for(const TensorHandle& x, const Dims& key) {
  Storage& storage = *x.storage();
  if (storage.exposed) return {};
  const std::lock_guard lock(derived_mutex());
  if (!storage.derived) return {};
  auto& kept = static_cast<Derived&>(*storage.derived);
  const bool same = kept.writes == storage.writes() && kept.key == key && kept.dtype == x.dtype() && kept.layout == x.layout();
  return same ? Ref<Derived>(&kept) : Ref<Derived>();
}

inline bool is_anything_kept(const TensorHandle& x) {
  const std::lock_guard lock(derived_mutex());
  return bool(x.storage()->derived);
}

// The elements that make(T*) computes from x, cached under a key. Storage that others can modify unnoticed is not cached.
template <class T, class Make>
Ref<Derived> derived_from(const TensorHandle& x, const Dims& key, int64_t elements, Make make) {
  Storage& storage = *x.storage();
  const uint32_t writes = storage.writes();
  if (Ref<Derived> kept = kept_for(x, key)) return kept;
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
