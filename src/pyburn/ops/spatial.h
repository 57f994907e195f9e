// What operations on axes of space share: convolutions and pools.
#pragma once
#include "pyburn/support/error.h"
#include "pyburn/tensor/shape.h"

namespace pyburn {

// One number for each axis, where a user may give one for all.
inline Dims spread(const Dims& v, int axes, const char* name, int64_t least) {
  const Dims result = v.size() == 1 ? Dims(axes, v[0]) : v;
  require(result.size() == axes, "expected one or {} numbers for {}: got {}", axes, name, v);
  for (int64_t n : result) require<ValueError>(n >= least, "expected {} of at least {}: got {}", name, least, v);
  return result;
}

}  // namespace pyburn
