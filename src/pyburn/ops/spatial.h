// Helpers shared by operations on spatial dimensions: convolutions and pooling.
#pragma once
#include "pyburn/support/error.h"
#include "pyburn/tensor/shape.h"

namespace pyburn {

// One number per dimension; a user may pass a single number for all.
inline Dims spread(const Dims& v, int axes, const char* name, int64_t least) {
  const Dims result = v.size() == 1 ? Dims(axes, v[0]) : v;
  require(result.size() == axes, "expected 1 or {} numbers for {}: got {}", axes, name, v);
  for (int64_t n : result) require<ValueError>(n >= least, "expected {} of at least {}: got {}", name, least, v);
  return result;
}

}  // namespace pyburn
