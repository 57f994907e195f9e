// Layers that normalise each sample separately: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct LayerNormConfig {
  Dims normalized_shape = Dims{1};  // the sizes of the last dimensions
  double eps = 1e-5;
  bool elementwise_affine = true, bias = true;
  PB_FIELDS(normalized_shape, eps, elementwise_affine, bias)
  static constexpr LayerText text{.required = 1, .positional = 1, .always = 4};
};

class LayerNorm : public Layer<LayerNormConfig> {
 public:
  explicit LayerNorm(LayerNormConfig config, Placement placement = {});
  LayerNorm(LayerNormConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(LayerNorm)
};

struct RMSNormConfig {
  Dims normalized_shape = Dims{1};
  std::optional<Scalar> eps;  // absent: depends on the precision of the dtype
  bool elementwise_affine = true;
  PB_FIELDS(normalized_shape, eps, elementwise_affine)
  static constexpr LayerText text{.required = 1, .positional = 1, .always = 3};
};

class RMSNorm : public Layer<RMSNormConfig> {
 public:
  explicit RMSNorm(RMSNormConfig config, Placement placement = {});
  RMSNorm(RMSNormConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(RMSNorm)
};

struct GroupNormConfig {
  int64_t num_groups = 1, num_channels = 1;
  double eps = 1e-5;
  bool affine = true, bias = true;
  PB_FIELDS(num_groups, num_channels, eps, affine, bias)
  static constexpr LayerText text{.required = 2, .positional = 2, .always = 5, .keyword_only = "bias"};
};

class GroupNorm : public Layer<GroupNormConfig> {
 public:
  explicit GroupNorm(GroupNormConfig config, Placement placement = {});
  GroupNorm(GroupNormConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(GroupNorm)
};

struct LocalResponseNormFunction {
  int64_t size = 1;
  Scalar alpha = 1e-4, beta = 0.75, k = 1.0;
  PB_FIELDS(size, alpha, beta, k)
  static constexpr LayerText text{.required = 1, .positional = 1, .always = 4};
  TensorHandle operator()(const TensorHandle& x) const;
};
using LocalResponseNorm = FunctionLayer<"LocalResponseNorm", LocalResponseNormFunction>;

// The older variant for images: a window of even size excludes its last channel.
struct CrossMapLRN2dFunction {
  int64_t size = 1;
  Scalar alpha = 1e-4, beta = 0.75, k = int64_t(1);
  PB_FIELDS(size, alpha, beta, k)
  static constexpr LayerText text{.required = 1, .positional = 1, .always = 4};
  TensorHandle operator()(const TensorHandle& x) const;
};
using CrossMapLRN2d = FunctionLayer<"CrossMapLRN2d", CrossMapLRN2dFunction>;

}  // namespace pyburn::nn
