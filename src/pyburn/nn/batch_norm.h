// Layers that normalise channels by statistics of the input, with optional running statistics: BatchNorm over a batch, InstanceNorm over
// each sample.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct BatchNormConfig {
  int64_t num_features = 1;
  double eps = 1e-5;
  std::optional<Scalar> momentum = 0.1;  // absent: the running statistics are cumulative averages over all batches
  bool affine = true, bias = true, track_running_stats = true;
  PB_FIELDS(num_features, eps, momentum, affine, bias, track_running_stats)
  static constexpr LayerText text{.required = 1, .positional = 1, .always = 6, .keyword_only = "bias"};
};

struct InstanceNormConfig {
  int64_t num_features = 1;
  double eps = 1e-5;
  std::optional<Scalar> momentum = 0.1;
  bool affine = false, bias = true, track_running_stats = false;
  PB_FIELDS(num_features, eps, momentum, affine, bias, track_running_stats)
  static constexpr LayerText text = BatchNormConfig::text;
};

struct SyncBatchNormConfig {
  int64_t num_features = 1;
  double eps = 1e-5;
  std::optional<Scalar> momentum = 0.1;
  bool affine = true, bias = true, track_running_stats = true;
  std::optional<Scalar> process_group;  // must be absent: there is only one process
  PB_FIELDS(num_features, eps, momentum, affine, bias, track_running_stats, process_group)
  static constexpr LayerText text{.required = 1, .positional = 1, .always = 6, .keyword_only = "bias", .hidden = "process_group"};
};

// Common base: per-channel scale and shift, and running statistics.
template <class C>
class ChannelNorm : public Layer<C> {
 public:
  explicit ChannelNorm(C config, Placement placement = {});
  ChannelNorm(C config, Unfilled) : Layer<C>(std::move(config)) {}
  void reset_running_stats();
  void reset_parameters();
  void set_momentum(std::optional<Scalar> momentum) { this->config_.momentum = momentum; }
  int64_t state_version() const override { return 2; }  // state dict version that added num_batches_tracked

 protected:
  bool may_be_missing(std::string_view key) const override { return key == "num_batches_tracked"; }
  TensorHandle normalised_by_batch(const TensorHandle& x);

 private:
  double next_momentum();  // counts the batch and returns its weight in the running statistics
};

template <int N>
class BatchNorm : public ChannelNorm<BatchNormConfig> {
 public:
  using ChannelNorm<BatchNormConfig>::ChannelNorm;
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "BatchNorm" + std::to_string(N) + "d"; }
  PB_COPYABLE(BatchNorm)
};
using BatchNorm1d = BatchNorm<1>;  // (N, C) or (N, C, L)
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

// In PyTorch the statistics are those of all processes. There is one here, so this is BatchNorm for any number of dimensions.
class SyncBatchNorm : public ChannelNorm<SyncBatchNormConfig> {
 public:
  explicit SyncBatchNorm(SyncBatchNormConfig config, Placement placement = {});
  SyncBatchNorm(SyncBatchNormConfig config, Unfilled u) : ChannelNorm(std::move(config), u) {}
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(SyncBatchNorm)
};

template <int N>
class InstanceNorm : public ChannelNorm<InstanceNormConfig> {
 public:
  using ChannelNorm<InstanceNormConfig>::ChannelNorm;
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "InstanceNorm" + std::to_string(N) + "d"; }
  PB_COPYABLE(InstanceNorm)
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

}  // namespace pyburn::nn
