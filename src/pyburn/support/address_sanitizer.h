// Tells AddressSanitizer which bytes of a block are valid: it tracks blocks of the system, not those from a cache. Without the sanitizer
// these functions do nothing.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define PYBURN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PYBURN_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef PYBURN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace pyburn {

inline void forbid_memory([[maybe_unused]] const void* first, [[maybe_unused]] size_t bytes) {
#ifdef PYBURN_ADDRESS_SANITIZER
  __asan_poison_memory_region(first, bytes);
#endif
}

inline void allow_memory([[maybe_unused]] const void* first, [[maybe_unused]] size_t bytes) {
#ifdef PYBURN_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(first, bytes);
#endif
}

}  // namespace pyburn
