// Reading and writing through an index.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct IndexAxis {
  int64_t dim = 0;
  PB_FIELDS(dim)
  static IndexAxis from(const TensorHandle& x, int64_t dim, const TensorHandle&) { return {normalise_dim(dim, x.rank())}; }
  static IndexAxis from(const TensorHandle& x, int64_t dim, const TensorHandle&, const TensorHandle&) {
    return {normalise_dim(dim, x.rank())};
  }
};

namespace op {
extern OpInfo nonzero, index_select, index_add;
}

}  // namespace pyburn
