// Tensors in a private mapping of a file, that nothing else writes to.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

// `release` is called when the last tensor dies.
Ref<Storage> wrap_file_memory(void* data, int64_t bytes, void* context, void (*release)(void* context));
// Gives back the memory of such a tensor, unless it was written: the system reads the file again where it is wanted. Other tensors stay.
void release_file_pages(const TensorHandle&);

}  // namespace pyburn::cpu
