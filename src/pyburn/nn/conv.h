// Conv1d, Conv2d, Conv3d: convolutions over (N, C, ...) or (C, ...).
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

template <int N>
struct ConvConfig {
  static constexpr int axes = N;
  int64_t in_channels = 1, out_channels = 1;
  Dims kernel_size = Dims(N, 1), stride = Dims(N, 1);
  SizesOrRule padding{Dims(N, 0), ""};  // numbers, 'valid' or 'same'
  Dims dilation = Dims(N, 1);
  int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  // or 'reflect', 'replicate', 'circular'
  PB_FIELDS(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode)
  static constexpr LayerText text{.required = 3, .positional = 2, .always = 4};
};

template <int N>
class Conv : public Layer<ConvConfig<N>> {
 public:
  // A single number applies to all dimensions. ValueError for invalid channels, groups or padding.
  explicit Conv(ConvConfig<N> config, Placement placement = {});
  Conv(ConvConfig<N> config, Unfilled) : Layer<ConvConfig<N>>(std::move(config)) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "Conv" + std::to_string(N) + "d"; }
  PB_COPYABLE(Conv)
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

// Expands one number to n dimensions; ValueError for any other count.
Dims per_axis(const Dims& v, int n, const char* name);

}  // namespace pyburn::nn
