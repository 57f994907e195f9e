// Classification losses with margins, and sequence losses.
#pragma once
#include "pyburn/nn/weighted_loss.h"

namespace pyburn::nn {

struct MultiLabelMarginFunction : ReductionOption {
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct MultiLabelSoftMarginFunction {
  TensorOption weight;
  std::string reduction = "mean";
  PB_FIELDS(weight, reduction)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const;
};
struct MultiMarginFunction {
  int64_t p = 1;  // or 2
  Scalar margin = 1.0;
  TensorOption weight;
  std::string reduction = "mean";
  PB_FIELDS(p, margin, weight, reduction)
  static constexpr LayerText text = silent;
  void complete() const;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const;
};
struct CTCFunction {
  int64_t blank = 0;
  std::string reduction = "mean";
  bool zero_infinity = false;
  PB_FIELDS(blank, reduction, zero_infinity)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& log_probs, const TensorHandle& targets, const TensorHandle& input_lengths,
      const TensorHandle& target_lengths) const;
};

using MultiLabelMarginLoss = FunctionLayer<"MultiLabelMarginLoss", MultiLabelMarginFunction>;
using MultiLabelSoftMarginLoss = WeightedLoss<"MultiLabelSoftMarginLoss", MultiLabelSoftMarginFunction>;
using MultiMarginLoss = WeightedLoss<"MultiMarginLoss", MultiMarginFunction>;
using CTCLoss = FunctionLayer<"CTCLoss", CTCFunction>;

}  // namespace pyburn::nn
