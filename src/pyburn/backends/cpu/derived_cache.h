// Caches values computed from the elements of a tensor, such as packed weights, while the elements are unchanged. Stored on the storage,
// the last few: images of other sizes may want another form of one weight.
#pragma once
#include <memory>
#include <optional>
#include <span>

#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

class Derived final : public Counted {
 public:
  explicit Derived(int64_t bytes) : own_(std::in_place, bytes), bytes_(own_->data(), size_t(bytes)) {}
  // Computed before, such as packed weights in a mapped file. Only read.
  Derived(std::span<std::byte> bytes, std::shared_ptr<const void> owner) : owner_(std::move(owner)), bytes_(bytes) {}
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes_.data());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

  uint32_t writes = 0;
  Layout layout;  // version of the tensor it was computed from
  DType dtype = DType::float32;
  Dims key;  // what else the value depends on
  Ref<Derived> older;

 private:
  std::optional<ScratchBuffer<std::byte>> own_;
  std::shared_ptr<const void> owner_;
  std::span<std::byte> bytes_;
};

ForkSafeMutex& derived_mutex();

// The cached result of this size for x and this key; null if there is none or x has been written to since.
Ref<Derived> kept_for(const TensorHandle& x, const Dims& key, int64_t bytes);
// Puts a result before the others, which are dropped where x has been written to, or where there are too many.
void keep(const TensorHandle& x, const Ref<Derived>& fresh);

inline bool is_anything_kept(const TensorHandle& x) {
  const std::lock_guard lock(derived_mutex());
  return bool(x.storage()->derived);
}

// The elements that make(T*) computes from x, cached under a key. Storage that others can modify unnoticed is not cached.
template <class T, class Make>
Ref<Derived> derived_from(const TensorHandle& x, const Dims& key, int64_t elements, Make make) {
  Storage& storage = *x.storage();
  const uint32_t writes = storage.writes();
  const int64_t bytes = Checked(elements) * int64_t(sizeof(T));
  if (Ref<Derived> kept = kept_for(x, key, bytes)) return kept;
  Ref<Derived> fresh(new Derived(bytes));
  fresh->writes = writes;
  fresh->layout = x.layout();
  fresh->dtype = x.dtype();
  fresh->key = key;
  make(fresh->data<T>());
  keep(x, fresh);
  return fresh;
}

}  // namespace pyburn::cpu
