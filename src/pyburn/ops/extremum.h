// Extrema along one dimension, with their indices.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// One dimension, or the flattened tensor (dim = -1 after normalisation).
struct ArgReduce {
  int64_t dim = -1;
  bool keepdim = false;
  PB_FIELDS(dim, keepdim)
  static ArgReduce from(const TensorHandle& x, std::optional<int64_t> dim, bool keepdim) {
    return {dim ? normalise_dim(*dim, x.rank()) : -1, keepdim};
  }
  static ArgReduce from(const TensorHandle& x, int64_t dim, bool keepdim) { return {normalise_dim(dim, x.rank()), keepdim}; }
};

namespace op {
extern OpInfo argmax, argmin, max_dim, min_dim;
}

// The gradient of values that were selected from a tensor of shape x along dim at `index`.
TensorHandle grad_of_picked(const TensorHandle& dy, const TensorHandle& index, int64_t dim, bool keepdim, const Meta& x);

}  // namespace pyburn
