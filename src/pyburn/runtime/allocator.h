// Host memory for tensors: 64-byte aligned, cached, in huge pages where large. Fresh pages cost more than arithmetic.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

void* host_allocate(int64_t bytes);               // OutOfMemoryError
void host_free(void* p, int64_t bytes) noexcept;  // `bytes` as asked for
MemoryStatistics host_memory();
// What all tensors together may take: memory and swap of the machine or its container, and at most PYBURN_MEMORY_LIMIT.
int64_t host_memory_limit();
void empty_host_cache();  // gives cached blocks back to the system

}  // namespace pyburn
