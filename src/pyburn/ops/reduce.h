// Reductions over dimensions.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

inline DType accumulate_dtype(DType t) { return is_floating(t) ? t : DType::int64; }

struct Reduce {
  Dims dim;  // normalised: non-negative, sorted, never empty for rank > 0
  bool keepdim = false;
  DType result = DType::float32;
  PB_FIELDS(dim, keepdim, result)

  // sum and mean: the dtype is selectable.
  static Reduce from(const TensorHandle& x, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
    return {normalise_dims(dim, x.rank()), keepdim, dtype.value_or(accumulate_dtype(full_precision(x.dtype())))};
  }
  // prod: one dimension or all.
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

// any and all: an empty list of dimensions (not None) keeps every element separate, as in PyTorch.
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

// For gradients: y has the reduced shape of a tensor of shape x. Restores its dimensions and expands it to x; a view.
TensorHandle spread(const TensorHandle& y, const Dims& dim, bool keepdim, const Shape& x);

}  // namespace pyburn
