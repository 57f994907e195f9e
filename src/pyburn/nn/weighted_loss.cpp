#include "pyburn/nn/weighted_loss.h"

#include "pyburn/ops/generated/cross_entropy.h"
#include "pyburn/ops/generated/loss.h"

namespace pyburn::nn {

TensorHandle NLLFunction::operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const {
  return fn::nll_loss(input, target, weights, ignore_index, reduction);
}
TensorHandle CrossEntropyFunction::operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const {
  return fn::cross_entropy(input, target, weights, ignore_index, reduction, label_smoothing.to_double());
}
TensorHandle BCEFunction::operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const {
  return fn::binary_cross_entropy(input, target, weights, reduction);
}
TensorHandle BCEWithLogitsFunction::operator()(
    const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights, const TensorHandle& positives) const {
  return fn::binary_cross_entropy_with_logits(input, target, weights, reduction, positives);
}

}  // namespace pyburn::nn
