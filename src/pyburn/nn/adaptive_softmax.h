// AdaptiveLogSoftmaxWithLoss: a softmax over very many classes that computes rare classes only when they occur.
#pragma once
#include "pyburn/nn/loss.h"

namespace pyburn::nn {

struct AdaptiveLogSoftmaxConfig {
  int64_t in_features = 1, n_classes = 2;
  // Classes are sorted by frequency. Those below the first cutoff are computed directly, the others in clusters that end at the following
  // cutoffs; n_classes, the end of the last cluster, is appended.
  Dims cutoffs = Dims{1};
  double div_value = 4;  // each cluster projects to this many times fewer features than the previous one
  bool head_bias = false;
  PB_FIELDS(in_features, n_classes, cutoffs, div_value, head_bias)
  static constexpr LayerText text{.required = 3, .printed = false};
};

struct AdaptiveSoftmaxResult {
  TensorHandle output, loss;  // the log-probability of each target, and the mean negative log-likelihood
  auto tensors() { return std::tie(output, loss); }
};

class AdaptiveLogSoftmaxWithLoss : public Layer<AdaptiveLogSoftmaxConfig> {
 public:
  explicit AdaptiveLogSoftmaxWithLoss(AdaptiveLogSoftmaxConfig config, Placement placement = {});
  AdaptiveLogSoftmaxWithLoss(AdaptiveLogSoftmaxConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  // (N, in_features) and (N), or one sample without the batch dimension.
  AdaptiveSoftmaxResult forward(const TensorHandle& input, const TensorHandle& target);
  TensorHandle log_prob(const TensorHandle& input);  // of all classes: (N, n_classes)
  TensorHandle predict(const TensorHandle& input);   // the most likely class of each sample
  PB_MODULE(AdaptiveLogSoftmaxWithLoss)

  int64_t shortlist_size() const { return config_.cutoffs[0]; }
  int64_t n_clusters() const { return int64_t(config_.cutoffs.size()) - 1; }
  int64_t head_size() const { return shortlist_size() + n_clusters(); }

 private:
  TensorHandle cluster_scores(int64_t cluster, const TensorHandle& x);
};

}  // namespace pyburn::nn
