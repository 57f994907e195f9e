// Normalisation by mean and variance: layers, groups, instances, batches.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// The input as `rows` rows, each normalised separately. `groups` consecutive rows hold the channels of one sample, each channel `inner`
// elements long; weight and bias have one element per channel. Layers: one group, and every element a channel.
struct NormaliseRows {
  int64_t rows = 1, groups = 1, inner = 1;
  double eps = 1e-5;
  bool centred = true;  // otherwise by the root mean square
  PB_FIELDS(rows, groups, inner, eps, centred)

  static NormaliseRows from(const TensorHandle&, const TensorHandle&, const TensorHandle&, int64_t rows, int64_t groups, int64_t inner,
      double eps, bool centred) {
    return {rows, groups, inner, eps, centred};
  }
  static NormaliseRows from(const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&,
      int64_t groups, int64_t inner, bool centred) {
    return {0, groups, inner, 0, centred};
  }
};

namespace op {
extern OpInfo normalise_rows, normalise_rows_backward;
}

}  // namespace pyburn
