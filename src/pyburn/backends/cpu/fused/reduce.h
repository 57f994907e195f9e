// The reduction at the end of a fused program: folds tiles into a few lanes, with the same arithmetic as the reduction kernels.
#pragma once
#include "pyburn/backends/cpu/kernel_table.h"

namespace pyburn::cpu {

// Partial result of one row: eight 8-byte accumulators (double, int64 or uint64).
struct Lanes {
  alignas(64) std::byte bytes[64];
};

struct Folder {
  void (*start)(Lanes&);
  void (*fold)(Lanes&, const void* tile, int64_t n);  // n elements of the compute dtype
  void (*join)(Lanes&, const Lanes& later);
  void (*finish)(const Lanes&, int64_t count, void* value);  // one element of the compute dtype
};

// For sum, mean, amax and amin in a compute dtype.
Folder folder(const OpInfo& reduction, DType compute);

}  // namespace pyburn::cpu
