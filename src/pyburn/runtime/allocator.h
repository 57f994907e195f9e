// Host memory for tensors: 64-byte aligned, cached, in huge pages for large blocks. Page faults cost more than arithmetic.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

void* host_allocate(int64_t bytes);               // OutOfMemoryError
void host_free(void* p, int64_t bytes) noexcept;  // `bytes` as requested
MemoryStatistics host_memory();
// The limit for all tensors: memory and swap of the machine or container, and at most PYBURN_MEMORY_LIMIT.
int64_t host_memory_limit();
void empty_host_cache();  // returns cached blocks to the system

}  // namespace pyburn
