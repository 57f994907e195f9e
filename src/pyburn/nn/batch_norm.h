// BatchNorm2d: each channel of (N, C, H, W) with mean 0 and variance 1 over the batch, then scaled and shifted.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct BatchNormConfig {
  int64_t num_features = 1;
  double eps = 1e-5;
  std::optional<Scalar> momentum = 0.1;  // absent: the running statistics are plain averages over all batches
  bool affine = true, bias = true, track_running_stats = true;
  PB_FIELDS(num_features, eps, momentum, affine, bias, track_running_stats)
  static constexpr LayerText text{.required = 1, .positional = 1, .always = 6, .keyword_only = "bias"};
};

class BatchNorm2d : public Layer<BatchNormConfig> {
 public:
  explicit BatchNorm2d(BatchNormConfig config, Placement placement = {});
  BatchNorm2d(BatchNormConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_running_stats();
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "BatchNorm2d"; }
  int64_t state_version() const override { return 2; }  // which added num_batches_tracked

 protected:
  bool may_be_missing(std::string_view key) const override { return key == "num_batches_tracked"; }

 private:
  double next_momentum();  // counts the batch, and says how much it weighs
};

}  // namespace pyburn::nn
