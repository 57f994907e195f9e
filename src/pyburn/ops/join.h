// Concatenation of tensors along a dimension.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Join {
  int64_t dim = 0;
  PB_FIELDS(dim)
  static Join from(const Tensors& tensors, int64_t dim);
};

// Empty 1-d tensors are ignored by cat, whatever the shape of the others, as in PyTorch.
inline bool is_left_out(const Shape& s) { return s.rank() == 1 && s[0] == 0; }

namespace op {
extern OpInfo cat;
}

}  // namespace pyburn
