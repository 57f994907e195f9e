// The gradient of a view of a part: zeros of full size, with dy written to the part.
#pragma once
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/rules.h"

namespace pyburn {

template <class Part>
TensorHandle embedded(const GradContext& c, Part part) {
  const TensorHandle whole = zeros(c.meta(0).shape, c.meta(0).dtype, &c.dy().device(), false);
  copy_into(part(whole), c.dy());
  return whole;
}

}  // namespace pyburn
