// Where buffers lie in one piece of memory, so that those that do not live at the same time share it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace pyburn {

// In use from step `first` to step `last`, both included.
struct BufferLife {
  int64_t bytes;
  int32_t first, last;
};

struct MemoryPlan {
  static constexpr int64_t kAlignment = 64;
  std::vector<int64_t> offsets;  // of each buffer; multiples of kAlignment
  int64_t bytes = 0;             // of the whole
  int64_t least = 0;             // what is alive at the busiest step: no plan can do with less
};

// Large buffers first, each at the lowest place that is free during its life.
MemoryPlan plan_memory(std::span<const BufferLife> buffers);

}  // namespace pyburn
