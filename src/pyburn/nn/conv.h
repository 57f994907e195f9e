// Conv2d: a convolution over images (N, C, H, W), or over one image (C, H, W).
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct Conv2dConfig {
  int64_t in_channels = 1, out_channels = 1;
  Dims kernel_size{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;
  bool bias = true;
  PB_FIELDS(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
  static constexpr ConfigText text{.positional = 2, .always = 4};
};

class Conv2d : public Layer<Conv2dConfig> {
 public:
  // One number stands for both axes. ValueError where channels and groups do not agree.
  explicit Conv2d(Conv2dConfig config, Placement placement = {});
  Conv2d(Conv2dConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "Conv2d"; }
};

// The padding that keeps the size of an image; ValueError where it would differ between the two sides.
Dims same_padding(const Dims& kernel_size, const Dims& stride, const Dims& dilation);

}  // namespace pyburn::nn
