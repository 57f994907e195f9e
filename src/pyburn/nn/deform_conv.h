// DeformConv2d: a convolution whose taps are shifted by offsets computed by another layer; as in Burn and torchvision.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct DeformConv2dConfig {
  int64_t in_channels = 1, out_channels = 1;
  Dims kernel_size{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;         // groups of the weight
  int64_t offset_groups = 1;  // channel groups with the same offsets
  bool bias = true;
  PB_FIELDS(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, offset_groups, bias)
  static constexpr LayerText text{.required = 3, .positional = 2, .always = 4};
};

// offset (N, 2 * offset_groups * taps, H_out, W_out): vertical and horizontal shift of each tap; mask (N, offset_groups * taps, ...) scales
// them. The numbers of groups follow from the shapes.
TensorHandle deform_conv2d(const TensorHandle& input, const TensorHandle& offset, const TensorHandle& weight, const TensorHandle& bias = {},
    const Dims& stride = {1, 1}, const Dims& padding = {0, 0}, const Dims& dilation = {1, 1}, const TensorHandle& mask = {});

class DeformConv2d : public Layer<DeformConv2dConfig> {
 public:
  explicit DeformConv2d(DeformConv2dConfig config, Placement placement = {});
  DeformConv2d(DeformConv2dConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& input, const TensorHandle& offset, const TensorHandle& mask = {});
  PB_MODULE(DeformConv2d)
};

}  // namespace pyburn::nn
