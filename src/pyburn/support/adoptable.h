// Reference counting that a host language can take over. While only C++ holds an object, it counts its references
// itself; once an object of the host stands for it, references from C++ count on that one, and the host's garbage
// collector sees them all. Works with Ref<T>. An object that make_ref made goes with its last reference; one on the stack stays, as one
// does that is still under construction, whatever references come and go.
#pragma once
#include <atomic>
#include <cstdint>
#include <new>

#include "pyburn/support/ref.h"

namespace pyburn {

class Adoptable {
 public:
  // How references are counted on the host's objects; set by the bindings before the first adoption.
  struct Host {
    void (*retain)(void* object) noexcept = nullptr;
    void (*release)(void* object) noexcept = nullptr;
  };
  static Host host;

  Adoptable() = default;
  Adoptable(const Adoptable&) = delete;
  Adoptable& operator=(const Adoptable&) = delete;

  void retain_first() const noexcept;  // by make_ref: from now on the last reference takes this with it
  void retain() const noexcept;
  void release() const noexcept;
  void* host_object() const noexcept;  // null while C++ owns this
  // From now on `object` owns this. The references that C++ holds are counted on `object`; the caller keeps its own.
  void adopt_by(void* object) const noexcept;
  uint32_t use_count() const noexcept;  // references while C++ owns this; 0 afterwards

  static void* operator new(size_t, void* at) noexcept { return at; }  // where the host has made room

 protected:
  virtual ~Adoptable() = default;
  // By make_ref alone: nobody would delete what a plain `new` makes.
  static void* operator new(size_t size) { return ::operator new(size); }
  template <class T, class... A>
  friend Ref<T> make_ref(A&&... a);

 private:
  static constexpr uintptr_t kOwn = 1;          // the lowest bit: no address of an object has it
  static constexpr uintptr_t kFreed = 2;        // with the last reference
  static constexpr uintptr_t kReference = 4;    // the rest counts
  mutable std::atomic<uintptr_t> state_{kOwn};  // these three, or the host's object
};

}  // namespace pyburn
