// Sorting along one dimension: sort, topk, kthvalue, median and mode. NaN counts as larger than any number.
#pragma once
#include "pyburn/ops/extremum.h"

namespace pyburn {

struct Sort {
  int64_t dim = 0;
  bool descending = false;
  PB_FIELDS(dim, descending)
  static Sort from(const TensorHandle& x, int64_t dim, bool descending, bool /*stable: it always is*/) {
    return {normalise_dim(dim, x.rank()), descending};
  }
};
struct TopK {
  int64_t k = 1, dim = 0;
  bool largest = true, sorted = true;
  PB_FIELDS(k, dim, largest, sorted)
  static TopK from(const TensorHandle& x, int64_t k, int64_t dim, bool largest, bool sorted) {
    return {k, normalise_dim(dim, x.rank()), largest, sorted};
  }
};
struct KthValue {
  int64_t k = 1, dim = 0;
  bool keepdim = false;
  PB_FIELDS(k, dim, keepdim)
  static KthValue from(const TensorHandle& x, int64_t k, int64_t dim, bool keepdim) { return {k, normalise_dim(dim, x.rank()), keepdim}; }
};

namespace op {
extern OpInfo sort, topk, kthvalue, median_dim, nanmedian_dim, mode;
}

}  // namespace pyburn
