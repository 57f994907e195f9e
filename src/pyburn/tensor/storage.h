// The memory behind tensors. Backends subclass Storage; views alias one.
#pragma once
#include <cstdint>

#include "pyburn/support/late_error.h"
#include "pyburn/support/pool.h"
#include "pyburn/support/ref.h"

namespace pyburn {

class Backend;

class Storage : public Counted, public Pooled {
 public:
  Storage(Backend* owner, int64_t bytes, void* host = nullptr, bool has_values = true)
      : owner(owner), bytes(bytes), has_values(has_values), host(host) {}

  Backend* const owner;  // the backend that allocated it; lives until the process ends
  const int64_t bytes;
  const bool has_values;  // false on null: a size without memory
  void* host;             // set on cpu: zero-copy access for numpy and DLPack
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }
  // Counts all writes, also those through .data, which do not increment the version.
  uint32_t writes() const { return writes_.load(std::memory_order_relaxed); }
  void note_write() { writes_.fetch_add(1, std::memory_order_relaxed); }

  // An operation that fails after the call stores its error in the storages that it should have written. Views share it. Reading the
  // elements raises it, and overwriting all of them clears it: see runtime/spoiled.h.
  LateError error;

  bool exposed = false;  // the memory is shared with others, which may write to it unnoticed
  Ref<Counted> derived;  // data that a backend derives from the elements, such as packed weights; see its derived_cache.h

 private:
  std::atomic<uint32_t> version_{0};  // incremented by in-place writes; shared by all views
  std::atomic<uint32_t> writes_{0};
};

}  // namespace pyburn
