// ConvTranspose1d, ConvTranspose2d, ConvTranspose3d: transposed convolutions; a stride enlarges the output.
#pragma once
#include "pyburn/nn/conv.h"

namespace pyburn::nn {

template <int N>
struct ConvTransposeConfig {
  int64_t in_channels = 1, out_channels = 1;
  Dims kernel_size = Dims(N, 1), stride = Dims(N, 1), padding = Dims(N, 0), output_padding = Dims(N, 0);
  int64_t groups = 1;
  bool bias = true;
  Dims dilation = Dims(N, 1);
  std::string padding_mode = "zeros";  // the only supported mode
  PB_FIELDS(in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode)
  static constexpr LayerText text{.required = 3};
};

template <int N>
class ConvTranspose : public Layer<ConvTransposeConfig<N>> {
 public:
  using Config = ConvTransposeConfig<N>;
  explicit ConvTranspose(Config config, Placement placement = {});
  ConvTranspose(Config config, Unfilled) : Layer<Config>(std::move(config)) {}
  void reset_parameters();
  // A stride maps several input sizes to one; `output_size`, with or without batch and channel sizes, selects one of them.
  TensorHandle forward(const TensorHandle& x, const Dims& output_size);
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "ConvTranspose" + std::to_string(N) + "d"; }
  PB_COPYABLE(ConvTranspose)
  std::string extra_repr() const override;

 private:
  Dims output_padding_for(const TensorHandle& x, const Dims& output_size) const;
  TensorHandle convolve(const TensorHandle& x, const Dims& output_padding) const;
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace pyburn::nn
