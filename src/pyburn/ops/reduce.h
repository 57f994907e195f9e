// Reductions over axes.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/autocast.h"
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
    return {normalise_dims(dim, x.rank()), keepdim, dtype.value_or(accumulate_dtype(full_precision(x.dtype())))};
  }
  // prod: one axis or all.
  static Reduce from(const TensorHandle& x, std::optional<int64_t> dim, bool keepdim, std::optional<DType> dtype) {
    return from(x, dim ? OptionalDims(Dims{*dim}) : std::nullopt, keepdim, dtype);
  }
  // amax and amin keep the dtype.
  static Reduce from(const TensorHandle& x, const OptionalDims& dim, bool keepdim) {
    return {normalise_dims(dim, x.rank()), keepdim, x.dtype()};
  }
  // count_nonzero.
  static Reduce from(const TensorHandle& x, const OptionalDims& dim) { return {normalise_dims(dim, x.rank()), false, DType::int64}; }
};

// any and all: no axes given (an empty list, not None) is every element by itself, as in PyTorch.
struct Truth {
  Dims dim;
  bool keepdim = false;
  PB_FIELDS(dim, keepdim)

  static Truth from(const TensorHandle& x, const OptionalDims& dim, bool keepdim) {
    return {dim && dim->empty() ? Dims{} : normalise_dims(dim, x.rank()), keepdim};
  }
  Reduce reduce() const { return {dim, keepdim, DType::boolean}; }
};

namespace op {
extern OpInfo sum, mean, prod, nansum, count_nonzero, amax, amin, any, all, logsumexp;
}

// For gradients: y has the reduced shape of a tensor of shape x. Gives it its axes back and stretches it over x; a view.
TensorHandle spread(const TensorHandle& y, const Dims& dim, bool keepdim, const Shape& x);

}  // namespace pyburn
