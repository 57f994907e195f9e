// softmax, its logarithm, and their gradients.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Softmax {
  int64_t dim = 0;
  DType result = DType::float32;
  PB_FIELDS(dim, result)
  static Softmax from(const TensorHandle& x, int64_t dim, std::optional<DType> dtype) {
    return {normalise_dim(dim, x.rank()), dtype.value_or(full_precision(x.dtype()))};
  }
  // The gradients.
  static Softmax from(const TensorHandle& dy, const TensorHandle&, int64_t dim) { return {normalise_dim(dim, dy.rank()), dy.dtype()}; }
};

namespace op {
extern OpInfo softmax, log_softmax, softmax_backward, log_softmax_backward;
}

}  // namespace pyburn
