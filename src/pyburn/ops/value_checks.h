// Checks of what a tensor holds, which read it.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn {

// Whether a condition is true for every element; also where values are not known, on null and while capturing, so that a check is left
// out there.
bool holds_everywhere(const TensorHandle& condition);

}  // namespace pyburn
