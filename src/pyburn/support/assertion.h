// The error of what PyTorch writes as assert: Python sees it as an AssertionError, too.
#pragma once
#include "pyburn/support/error.h"

namespace pyburn {

struct AssertionFailed : ValueError {
  using ValueError::ValueError;
};

}  // namespace pyburn
