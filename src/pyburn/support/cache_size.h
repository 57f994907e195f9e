// What the kernels are cut to: the second-level cache of a core, and the last one, which cores share.
#pragma once
#include <cstdint>

namespace pyburn {

// Bytes of L2 per core, asked of the system once; between 256 KiB and 4 MiB, and 1 MiB where the system does not say.
int64_t l2_cache_bytes();

// Bytes of the L3 that a core reaches; at least 4 MiB, and 32 MiB where the system does not say.
int64_t l3_cache_bytes();

}  // namespace pyburn
