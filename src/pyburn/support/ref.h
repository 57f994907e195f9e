// Intrusive reference counting: Counted is the base, Ref<T> the handle.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace pyburn {

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  // Takes a reference only if another one exists; for weak pointers that are guarded by a lock.
  bool try_retain() const noexcept {
    uint32_t n = count_.load(std::memory_order_relaxed);
    while (n != 0)
      if (count_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  // The first reference to an object that no other thread knows yet: avoids the atomic instruction.
  void retain_alone() const noexcept { count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  uint32_t use_count() const noexcept { return count_.load(std::memory_order_relaxed); }

 protected:
  virtual ~Counted() = default;
  virtual void destroy() const noexcept { delete this; }

 private:
  mutable std::atomic<uint32_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Ref(const Ref<U>& o) : Ref(o.get()) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Ref(Ref<U>&& o)
  noexcept : p_(o.detach()) {}
  ~Ref() {
    if (p_) p_->release();
  }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  // Takes over a reference that the caller already holds.
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  T* detach() noexcept { return std::exchange(p_, nullptr); }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  T* p_ = nullptr;
};

template <class T, class... A>
Ref<T> make_ref(A&&... a) {
  T* fresh = new T(std::forward<A>(a)...);
  if constexpr (std::is_base_of_v<Counted, T>) fresh->retain_alone();
  else fresh->retain_first();
  return Ref<T>::adopt(fresh);
}

}  // namespace pyburn
