// LinearCrossEntropyLoss: a linear layer followed by cross entropy.
#pragma once
#include "pyburn/nn/loss.h"

namespace pyburn::nn {

struct LinearCrossEntropyOptions {
  TensorHandle weight = {};  // weights of the classes
  std::string reduction = "mean";
  std::optional<int64_t> ignore_index = {};  // default -100; not supported with class probabilities
  double label_smoothing = 0;
};
// A linear_weight (C, d1, ..., in_features) gives logits (N, C, d1, ...). linear_bias may be undefined.
TensorHandle linear_cross_entropy(const TensorHandle& input, const TensorHandle& linear_weight, const TensorHandle& target,
    const TensorHandle& linear_bias = {}, const LinearCrossEntropyOptions& options = {});

struct LinearCrossEntropyConfig {
  int64_t in_features = 1, num_classes = 1;
  Dims out_features;  // positions with separate logits
  bool bias = false;
  std::string reduction = "mean";
  TensorOption weight;
  std::optional<Scalar> ignore_index;
  double label_smoothing = 0;
  PB_FIELDS(in_features, num_classes, out_features, bias, reduction, weight, ignore_index, label_smoothing)
  static constexpr LayerText text{.required = 2, .always = 8, .hidden = "weight"};
};

class LinearCrossEntropyLoss : public Layer<LinearCrossEntropyConfig> {
 public:
  explicit LinearCrossEntropyLoss(LinearCrossEntropyConfig config, Placement placement = {});
  TensorHandle forward(const TensorHandle& input, const TensorHandle& target);
  PB_MODULE(LinearCrossEntropyLoss)
};

}  // namespace pyburn::nn
