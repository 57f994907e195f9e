#include "pyburn/support/pool.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace pyburn {
namespace {

constexpr size_t kStep = 32, kLargest = 2048, kClasses = kLargest / kStep, kCap = 512;

struct FreeObject {
  FreeObject* next;
};

// Plain data, so that it outlives every destructor of the thread; Guard below empties it.
struct FreeLists {
  FreeObject* head[kClasses];
  uint32_t size[kClasses];
  bool guarded, closed;
};
thread_local constinit FreeLists lists{};

struct Guard {
  ~Guard() {
    lists.closed = true;
    for (FreeObject*& head : lists.head)
      while (head) {
        FreeObject* next = head->next;
        std::free(head);
        head = next;
      }
  }
};

void guard_this_thread() {
  thread_local Guard guard;
  (void)guard;
  lists.guarded = true;
}

}  // namespace

void* pool_allocate(size_t bytes) {
  const size_t c = (bytes + kStep - 1) / kStep - 1;
  if (bytes == 0 || c >= kClasses) {
    void* p = std::malloc(bytes ? bytes : 1);
    if (!p) throw std::bad_alloc();
    return p;
  }
  if (FreeObject* p = lists.head[c]) {
    lists.head[c] = p->next;
    --lists.size[c];
    return p;
  }
  void* p = std::malloc((c + 1) * kStep);
  if (!p) throw std::bad_alloc();
  return p;
}

void pool_free(void* p, size_t bytes) noexcept {
  if (!p) return;
  const size_t c = (bytes + kStep - 1) / kStep - 1;
  if (bytes == 0 || c >= kClasses || lists.closed || lists.size[c] >= kCap) return std::free(p);
  if (!lists.guarded) guard_this_thread();
  auto* object = static_cast<FreeObject*>(p);
  object->next = lists.head[c];
  lists.head[c] = object;
  ++lists.size[c];
}

}  // namespace pyburn
