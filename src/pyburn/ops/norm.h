// Normalisation and softmax.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Softmax {
  int64_t dim = 0;
  PB_FIELDS(dim)
  static Softmax from(const TensorHandle& x, int64_t dim) { return {normalise_dim(dim, x.rank())}; }
};

namespace op {
extern OpInfo softmax, log_softmax;
}

}  // namespace pyburn
