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

  Backend* const owner;  // the backend that made it; lives as long as the process
  const int64_t bytes;
  const bool has_values;  // false on null: a size without memory behind it
  void* host;             // non-null on cpu: zero-copy numpy and DLPack
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }
  // Counts every write, also those through .data, which do not raise the version.
  uint32_t writes() const { return writes_.load(std::memory_order_relaxed); }
  void note_write() { writes_.fetch_add(1, std::memory_order_relaxed); }

  // An operation that fails after it was called leaves its error with the storages it should have written. Views share it. Whoever reads
  // the elements gets it, and writing all of them clears it: see runtime/spoiled.h.
  LateError error;

  bool exposed = false;  // others know the memory and may write to it unseen
  Ref<Counted> derived;  // what a backend keeps of the elements, such as packed weights; see its derived_cache.h

 private:
  std::atomic<uint32_t> version_{0};  // +1 per in-place write; shared by all views by construction
  std::atomic<uint32_t> writes_{0};
};

}  // namespace pyburn
