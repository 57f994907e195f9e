// Conversions between dtypes by vectors, for those that are asked for often.
#pragma once
#include <cstdint>

#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

// Converts n elements that lie one after the other. False where one of them does not fit, as 1e20 in an integer: then nothing is said
// about what was written, and the slow way has to be taken.
using Conversion = bool (*)(const void* from, void* to, int64_t n);

// nullptr where there is none.
Conversion find_conversion(DType from, DType to);

// y = x of another dtype, both in plain order.
void convert_plain(const TensorHandle& x, const TensorHandle& y);

}  // namespace pyburn::cpu
