// Reference counting that a host language can take over. While only C++ references an object, it counts its references itself;
// once a host object wraps it, references from C++ count on the wrapper, and the host's garbage collector sees all of them. Works
// with Ref<T>. An object from make_ref is deleted with its last reference; objects on the stack, or still under construction, are
// not.
#pragma once
#include <atomic>
#include <cstdint>
#include <new>

#include "pyburn/support/ref.h"

namespace pyburn {

class Adoptable {
 public:
  // How references are counted on host objects; set by the bindings before the first adoption.
  struct Host {
    void (*retain)(void* object) noexcept = nullptr;
    void (*release)(void* object) noexcept = nullptr;
  };
  static Host host;

  Adoptable() = default;
  Adoptable(const Adoptable&) = delete;
  Adoptable& operator=(const Adoptable&) = delete;

  void retain_first() const noexcept;  // called by make_ref: from now on the last reference deletes this object
  void retain() const noexcept;
  void release() const noexcept;
  void* host_object() const noexcept;  // null while C++ owns this object
  // From now on `object` owns this. References held by C++ are counted on `object`; the caller keeps its own.
  void adopt_by(void* object) const noexcept;
  uint32_t use_count() const noexcept;  // references while C++ owns this object; 0 afterwards

  static void* operator new(size_t, void* at) noexcept { return at; }  // where the host has reserved space

 protected:
  virtual ~Adoptable() = default;
  // Use make_ref: nothing would delete an object from a plain `new`.
  static void* operator new(size_t size) { return ::operator new(size); }
  template <class T, class... A>
  friend Ref<T> make_ref(A&&... a);

 private:
  static constexpr uintptr_t kOwn = 1;          // the lowest bit, which is 0 in every address
  static constexpr uintptr_t kFreed = 2;        // deleted with the last reference
  static constexpr uintptr_t kReference = 4;    // the other bits are the count
  mutable std::atomic<uintptr_t> state_{kOwn};  // count and flags, or the host's object
};

}  // namespace pyburn
