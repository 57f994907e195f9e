// Reading and adding along one axis through an index of the same rank.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct AlongAxis {
  int64_t dim = 0;
  PB_FIELDS(dim)
  static AlongAxis from(const TensorHandle& x, int64_t dim, const TensorHandle&) { return {normalise_dim(dim, x.rank())}; }
  static AlongAxis from(const TensorHandle& x, int64_t dim, const TensorHandle&, const TensorHandle&) {
    return {normalise_dim(dim, x.rank())};
  }
};

namespace op {
extern OpInfo gather, scatter_add;
}

}  // namespace pyburn
