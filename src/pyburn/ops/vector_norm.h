// Norms of vectors and matrices.
#pragma once
#include "pyburn/ops/reduce.h"

namespace pyburn {

struct VectorNorm {
  double ord = 2;
  Dims dim;  // as in Reduce
  bool keepdim = false;
  DType result = DType::float32;
  PB_FIELDS(ord, dim, keepdim, result)

  static VectorNorm from(const TensorHandle& x, const Scalar& ord, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
    return {ord.to_double(), normalise_dims(dim, x.rank()), keepdim, dtype.value_or(full_precision(x.dtype()))};
  }
  Reduce reduce() const { return {dim, keepdim, result}; }
};

namespace op {
extern OpInfo linalg_vector_norm;
}

}  // namespace pyburn
