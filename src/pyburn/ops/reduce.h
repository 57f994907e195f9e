// Reductions over axes.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

inline DType accumulate_dtype(DType t) { return is_floating(t) ? t : DType::int64; }

struct Reduce {
  Dims dim;  // normal form: non-negative, sorted, never empty for rank > 0
  bool keepdim = false;
  DType result = DType::float32;
  PB_FIELDS(dim, keepdim, result)

  // sum and mean: the dtype may be chosen.
  static Reduce from(const TensorHandle& x, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
    return {normalise_dims(dim, x.rank()), keepdim, dtype.value_or(accumulate_dtype(x.dtype()))};
  }
  // amax and amin keep the dtype.
  static Reduce from(const TensorHandle& x, const OptionalDims& dim, bool keepdim) {
    return {normalise_dims(dim, x.rank()), keepdim, x.dtype()};
  }
};

// The position of the extremum along one axis, or in the flattened tensor (dim = -1 after normalisation).
struct ArgReduce {
  int64_t dim = -1;
  bool keepdim = false;
  PB_FIELDS(dim, keepdim)
  static ArgReduce from(const TensorHandle& x, std::optional<int64_t> dim, bool keepdim) {
    return {dim ? normalise_dim(*dim, x.rank()) : -1, keepdim};
  }
};

namespace op {
extern OpInfo sum, mean, amax, amin, argmax;
}

}  // namespace pyburn
