// Layers that resize images: Upsample and its two older variants.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct UpsampleFunction {
  Sizes size;            // either this
  Numbers scale_factor;  // or this
  std::string mode = "nearest";
  std::optional<Scalar> align_corners, recompute_scale_factor;  // booleans
  PB_FIELDS(size, scale_factor, mode, align_corners, recompute_scale_factor)
  static constexpr LayerText text{};
  std::string extra_repr() const;
  TensorHandle operator()(const TensorHandle& x) const;
};
struct UpsamplingNearest2dFunction {
  Sizes size;
  Numbers scale_factor;
  PB_FIELDS(size, scale_factor)
  static constexpr LayerText text{};
  std::string extra_repr() const { return upsample().extra_repr(); }
  TensorHandle operator()(const TensorHandle& x) const { return upsample()(x); }
  UpsampleFunction upsample() const { return {size, scale_factor, "nearest", {}, {}}; }
};
struct UpsamplingBilinear2dFunction {
  Sizes size;
  Numbers scale_factor;
  PB_FIELDS(size, scale_factor)
  static constexpr LayerText text{};
  std::string extra_repr() const { return upsample().extra_repr(); }
  TensorHandle operator()(const TensorHandle& x) const { return upsample()(x); }
  UpsampleFunction upsample() const { return {size, scale_factor, "bilinear", true, {}}; }
};

using Upsample = FunctionLayer<"Upsample", UpsampleFunction>;
using UpsamplingNearest2d = FunctionLayer<"UpsamplingNearest2d", UpsamplingNearest2dFunction>;
using UpsamplingBilinear2d = FunctionLayer<"UpsamplingBilinear2d", UpsamplingBilinear2dFunction>;

}  // namespace pyburn::nn
