// Vectorised conversions between frequently used dtypes.
#pragma once
#include <cstdint>

#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

// Converts n contiguous elements. Returns false if an element does not fit, such as 1e20 in an integer: the output is then unspecified, and
// the caller must use the scalar path.
using Conversion = bool (*)(const void* from, void* to, int64_t n);

// Returns nullptr if there is no such conversion.
Conversion find_conversion(DType from, DType to);

// y = x in a different dtype; both contiguous.
void convert_plain(const TensorHandle& x, const TensorHandle& y);

}  // namespace pyburn::cpu
