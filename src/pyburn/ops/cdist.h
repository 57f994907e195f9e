// Pairwise distances between the rows of two matrices.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct CrossDistances {
  double p = 2;
  PB_FIELDS(p)
  static CrossDistances from(const TensorHandle&, const TensorHandle&, double p) { return {p}; }
};

namespace op {
extern OpInfo _cdist;
}

}  // namespace pyburn
