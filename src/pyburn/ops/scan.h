// Cumulative sums, products and extrema along one dimension.
#pragma once
#include "pyburn/ops/reduce.h"
#include "pyburn/runtime/autocast.h"

namespace pyburn {

struct Scan {
  int64_t dim = 0;
  DType result = DType::float32;
  bool reverse = false;  // from the end: used by gradients
  PB_FIELDS(dim, result, reverse)

  static Scan from(const TensorHandle& x, int64_t dim, std::optional<DType> dtype) {
    return {normalise_dim(dim, x.rank()), dtype.value_or(accumulate_dtype(full_precision(x.dtype()))), false};
  }
  static Scan from(const TensorHandle& x, int64_t dim) { return {normalise_dim(dim, x.rank()), x.dtype(), false}; }
};

namespace op {
extern OpInfo cumsum, cumprod, logcumsumexp, cummax, cummin;
}

}  // namespace pyburn
