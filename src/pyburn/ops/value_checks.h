// Checks of tensor values, which read the tensor.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn {

// Whether a condition holds for every element. Also true if values are unknown, on null and while capturing: the check is then
// skipped.
bool holds_everywhere(const TensorHandle& condition);

}  // namespace pyburn
