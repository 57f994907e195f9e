// Connectionist temporal classification: sequences of labels without an alignment to the steps of the input.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct CtcLoss {
  int64_t blank = 0;           // the class that stands between labels
  bool zero_infinity = false;  // losses of targets that do not fit the input become 0
  PB_FIELDS(blank, zero_infinity)
  static CtcLoss from(
      const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, int64_t blank, bool zero_infinity) {
    return {blank, zero_infinity};
  }
  static CtcLoss from(const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&,
      int64_t blank, bool zero_infinity) {
    return {blank, zero_infinity};
  }
};

namespace op {
extern OpInfo _ctc_loss, _ctc_loss_backward;
}

}  // namespace pyburn
