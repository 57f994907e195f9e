#include "pyburn/nn/class_loss.h"

#include "pyburn/ops/generated/ctc_loss.h"
#include "pyburn/ops/generated/margin_loss.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

TensorHandle MultiLabelMarginFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::multilabel_margin_loss(input, target, reduction);
}
TensorHandle MultiLabelSoftMarginFunction::operator()(
    const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const {
  return fn::multilabel_soft_margin_loss(input, target, weights, reduction);
}
void MultiMarginFunction::complete() const { require<ValueError>(p == 1 || p == 2, "only p == 1 and p == 2 supported"); }
TensorHandle MultiMarginFunction::operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const {
  return fn::multi_margin_loss(input, target, p, margin.to_double(), weights, reduction);
}
TensorHandle CTCFunction::operator()(const TensorHandle& log_probs, const TensorHandle& targets, const TensorHandle& input_lengths,
    const TensorHandle& target_lengths) const {
  return fn::ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity);
}

}  // namespace pyburn::nn
