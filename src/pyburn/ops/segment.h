// Reductions over consecutive segments of a dimension.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/ops/scatter.h"

namespace pyburn {

// Inputs: the data, whose dimension 0 is reduced, and the lengths of the segments.
struct Segments {
  Reduction reduce = Reduction::sum;
  std::optional<Scalar> initial;  // initial value of each segment
  PB_FIELDS(reduce, initial)
  static Segments from(const TensorHandle&, const TensorHandle&, const std::string& reduce, const std::optional<Scalar>& initial);
};

namespace op {
extern OpInfo _segment_reduce;
}

}  // namespace pyburn
