// Memory planning: assigns offsets in one block so that buffers with disjoint lifetimes share memory.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace pyburn {

// In use from step `first` to step `last`, inclusive.
struct BufferLife {
  int64_t bytes;
  int32_t first, last;
};

struct MemoryPlan {
  static constexpr int64_t kAlignment = 64;
  std::vector<int64_t> offsets;  // of each buffer; multiples of kAlignment
  int64_t bytes = 0;             // of the whole
  int64_t least = 0;             // the peak of live memory: a lower bound for every plan
};

// Largest buffers first, each at the lowest offset that is free during its lifetime.
MemoryPlan plan_memory(std::span<const BufferLife> buffers);

}  // namespace pyburn
