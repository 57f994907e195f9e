// Weighted sums of plane elements at positions given by a tensor: the basis of sampling between pixels.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct SamplePlanes {
  int64_t size = 0;  // size of the planes for sample_planes_input; else 0
  PB_FIELDS(size)
  static SamplePlanes from(const TensorHandle&, const TensorHandle&, const TensorHandle&, int64_t size = 0) { return {size}; }
};

namespace op {
extern OpInfo sample_planes, sample_planes_input, sample_planes_weight;
}

}  // namespace pyburn
