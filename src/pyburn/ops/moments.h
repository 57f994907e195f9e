// Mean, variance and standard deviation.
#pragma once
#include "pyburn/ops/reduce.h"

namespace pyburn {

struct VarMean {
  Dims dim;  // as in Reduce
  bool keepdim = false;
  double correction = 1;
  PB_FIELDS(dim, keepdim, correction)

  static VarMean from(const TensorHandle& x, const OptionalDims& dim, const std::optional<Scalar>& correction, bool keepdim) {
    return {normalise_dims(dim, x.rank()), keepdim, correction ? correction->to_double() : 1};
  }
  Reduce reduce() const { return {dim, keepdim, DType::float32}; }
};

namespace op {
extern OpInfo var_mean;
}

}  // namespace pyburn
