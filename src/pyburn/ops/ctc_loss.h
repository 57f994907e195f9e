// Connectionist temporal classification (CTC): label sequences without an alignment to the time steps.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct CtcLoss {
  int64_t blank = 0;           // the blank class
  bool zero_infinity = false;  // the losses of targets that do not fit the input are 0 instead of infinite
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
