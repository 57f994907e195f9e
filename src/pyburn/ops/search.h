// Positions in sorted sequences, histograms, unique values.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct SearchSorted {
  bool right = false;  // after equal elements instead of before them
  DType result = DType::int64;
  PB_FIELDS(right, result)
  static SearchSorted from(const TensorHandle&, const TensorHandle&, bool out_int32, bool right) {
    return {right, out_int32 ? DType::int32 : DType::int64};
  }
};
struct Histogram {
  int64_t bins = 100;
  double min = 0, max = 0;  // equal: use the extrema of the input
  PB_FIELDS(bins, min, max)
  static Histogram from(const TensorHandle&, int64_t bins, const Scalar& min, const Scalar& max) {
    return {bins, min.to_double(), max.to_double()};
  }
};
struct BinCount {
  int64_t minlength = 0;
  PB_FIELDS(minlength)
  static BinCount from(const TensorHandle&, const TensorHandle&, int64_t minlength) { return {minlength}; }
};
struct Distinct {
  int64_t dim = -1;          // the flattened tensor
  bool consecutive = false;  // only consecutive duplicates
  PB_FIELDS(dim, consecutive)
  static Distinct from(const TensorHandle& x, std::optional<int64_t> dim, bool consecutive) {
    return {dim ? normalise_dim(*dim, x.rank()) : -1, consecutive};
  }
};

namespace op {
extern OpInfo searchsorted, histc, bincount, distinct;
}

}  // namespace pyburn
