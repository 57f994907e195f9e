// Cross entropy of logits and class indices in one pass, without materialising the softmax.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct ClassLoss {
  int64_t ignore_index = -100;  // a class that is ignored
  PB_FIELDS(ignore_index)
  static ClassLoss from(const TensorHandle&, const TensorHandle&, int64_t ignore_index) { return {ignore_index}; }
  static ClassLoss from(const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, int64_t ignore_index) {
    return {ignore_index};
  }
};

namespace op {
extern OpInfo class_loss, class_loss_backward;
}

// 'mean', 'sum' or 'none'; ValueError otherwise.
TensorHandle reduced_loss(const TensorHandle& loss, const std::string& reduction);

}  // namespace pyburn
