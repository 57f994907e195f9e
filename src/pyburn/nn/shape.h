// Layers that change the shape of a tensor, and Identity.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

class Identity : public Module {
 public:
  TensorHandle forward(const TensorHandle& x) override { return x; }
  PB_MODULE(Identity)
};

struct FlattenFunction {
  int64_t start_dim = 1, end_dim = -1;
  PB_FIELDS(start_dim, end_dim)
  static constexpr LayerText text{.always = 2};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct UnflattenFunction {
  int64_t dim = 1;
  Dims unflattened_size{1};
  PB_FIELDS(dim, unflattened_size)
  static constexpr LayerText text{.required = 2, .always = 2};
  TensorHandle operator()(const TensorHandle& x) const;
};

// Patches of images as columns, and the inverse.
struct UnfoldFunction {
  Sizes kernel_size{1}, dilation{1}, padding{0}, stride{1};
  PB_FIELDS(kernel_size, dilation, padding, stride)
  static constexpr LayerText text{.required = 1, .always = 4};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct FoldFunction {
  Sizes output_size{1}, kernel_size{1}, dilation{1}, padding{0}, stride{1};
  PB_FIELDS(output_size, kernel_size, dilation, padding, stride)
  static constexpr LayerText text{.required = 2, .always = 5};
  TensorHandle operator()(const TensorHandle& x) const;
};

struct PixelShuffleFunction {
  int64_t upscale_factor = 1;
  PB_FIELDS(upscale_factor)
  static constexpr LayerText text{.required = 1, .always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct PixelUnshuffleFunction {
  int64_t downscale_factor = 1;
  PB_FIELDS(downscale_factor)
  static constexpr LayerText text{.required = 1, .always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
struct ChannelShuffleFunction {
  int64_t groups = 1;
  PB_FIELDS(groups)
  static constexpr LayerText text{.required = 1, .always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};

using Flatten = FunctionLayer<"Flatten", FlattenFunction>;
using Unflatten = FunctionLayer<"Unflatten", UnflattenFunction>;
using Unfold = FunctionLayer<"Unfold", UnfoldFunction>;
using Fold = FunctionLayer<"Fold", FoldFunction>;
using PixelShuffle = FunctionLayer<"PixelShuffle", PixelShuffleFunction>;
using PixelUnshuffle = FunctionLayer<"PixelUnshuffle", PixelUnshuffleFunction>;
using ChannelShuffle = FunctionLayer<"ChannelShuffle", ChannelShuffleFunction>;

}  // namespace pyburn::nn
