// Per-thread, capped free lists for small objects that come and go with every operation.
#pragma once
#include <cstddef>

namespace pyburn {

// Memory of at least `bytes`, 16-byte aligned. Served from this thread's free list when it has one.
void* pool_allocate(size_t bytes);
void pool_free(void* p, size_t bytes) noexcept;

// Base class: objects of the derived class live in the pool.
struct Pooled {
  static void* operator new(size_t bytes) { return pool_allocate(bytes); }
  static void* operator new(size_t, void* at) { return at; }
  static void operator delete(void* p, size_t bytes) noexcept { pool_free(p, bytes); }
};

}  // namespace pyburn
