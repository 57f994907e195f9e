// The error for PyTorch's asserts: also an AssertionError in Python.
#pragma once
#include "pyburn/support/error.h"

namespace pyburn {

struct AssertionFailed : ValueError {
  using ValueError::ValueError;
};

}  // namespace pyburn
