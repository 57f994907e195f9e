// Selection of slices of a tensor by an index along one dimension.
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
struct IndexAdd {
  int64_t dim = 0;
  Scalar alpha = 1;
  PB_FIELDS(dim, alpha)
  static IndexAdd from(const TensorHandle& x, int64_t dim, const TensorHandle&, const TensorHandle&, const Scalar& alpha) {
    return {normalise_dim(dim, x.rank()), alpha};
  }
};

namespace op {
extern OpInfo nonzero, index_select, index_add, index_copy;
}

}  // namespace pyburn
