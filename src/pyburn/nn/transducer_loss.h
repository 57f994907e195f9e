// RNNTLoss: the loss of transducers, which emit any number of labels at each step of time.
#pragma once
#include "pyburn/nn/loss.h"

namespace pyburn::nn {

// logits (B, T, U + 1, V) score each symbol at each step of time after each number of labels; targets (B, U) are the labels. Of a
// sample the first logit_lengths steps and the first target_lengths labels count. 'mean' is over the batch.
struct RNNTFunction {
  int64_t blank = 0;   // the symbol that moves on in time
  bool logits = true;  // false: logarithms of probabilities
  std::string reduction = "mean";
  PB_FIELDS(blank, logits, reduction)
  static constexpr LayerText text = silent;
  TensorHandle operator()(
      const TensorHandle& logits, const TensorHandle& targets, const TensorHandle& logit_lengths, const TensorHandle& target_lengths) const;
};
using RNNTLoss = FunctionLayer<"RNNTLoss", RNNTFunction>;

}  // namespace pyburn::nn
