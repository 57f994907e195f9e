// Per-thread, bounded free lists for small objects that every operation allocates and frees.
#pragma once
#include <cstddef>

namespace pyburn {

// Memory of at least `bytes`, 16-byte aligned, from this thread's free list if possible.
void* pool_allocate(size_t bytes);
void pool_free(void* p, size_t bytes) noexcept;

// Base class: objects of the derived class are allocated from the pool.
struct Pooled {
  static void* operator new(size_t bytes) { return pool_allocate(bytes); }
  static void* operator new(size_t, void* at) { return at; }
  static void operator delete(void* p, size_t bytes) noexcept { pool_free(p, bytes); }
};

}  // namespace pyburn
