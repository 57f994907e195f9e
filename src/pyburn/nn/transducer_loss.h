// RNNTLoss: the loss of RNN transducers, which emit any number of labels per time step.
#pragma once
#include "pyburn/nn/loss.h"

namespace pyburn::nn {

// logits (B, T, U + 1, V) score each symbol at each time step after each number of labels; targets (B, U) are the labels. logit_lengths and
// target_lengths limit both per sample. 'mean' averages over the batch.
struct RNNTFunction {
  int64_t blank = 0;   // the blank symbol, which advances in time
  bool logits = true;  // false: inputs are log-probabilities
  std::string reduction = "mean";
  PB_FIELDS(blank, logits, reduction)
  static constexpr LayerText text = silent;
  TensorHandle operator()(
      const TensorHandle& logits, const TensorHandle& targets, const TensorHandle& logit_lengths, const TensorHandle& target_lengths) const;
};
using RNNTLoss = FunctionLayer<"RNNTLoss", RNNTFunction>;

}  // namespace pyburn::nn
