// Weighted sums of elements of planes, at places that a tensor names: what sampling between pixels is made of.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct SamplePlanes {
  int64_t size = 0;  // of the planes that sample_planes_input gives; else 0
  PB_FIELDS(size)
  static SamplePlanes from(const TensorHandle&, const TensorHandle&, const TensorHandle&, int64_t size = 0) { return {size}; }
};

namespace op {
extern OpInfo sample_planes, sample_planes_input, sample_planes_weight;
}

}  // namespace pyburn
