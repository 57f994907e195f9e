// Cache sizes that kernels are tuned to: the L2 cache of a core, and the shared last-level cache.
#pragma once
#include <cstdint>

namespace pyburn {

// Bytes of L2 per core, queried once; between 256 KiB and 4 MiB, and 1 MiB if unknown.
int64_t l2_cache_bytes();

// Bytes of L3 available to a core; at least 4 MiB, and 32 MiB if unknown.
int64_t l3_cache_bytes();

}  // namespace pyburn
