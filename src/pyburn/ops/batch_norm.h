// Normalisation of each channel (dimension 1) over a batch.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct NormaliseBatch {
  double eps = 1e-5;
  PB_FIELDS(eps)
  static NormaliseBatch from(const TensorHandle&, const TensorHandle&, const TensorHandle&, double eps) { return {eps}; }
  static NormaliseBatch from(
      const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, double eps) {
    return {eps};
  }
};

namespace op {
extern OpInfo normalise_batch, normalise_batch_backward;
}

}  // namespace pyburn
