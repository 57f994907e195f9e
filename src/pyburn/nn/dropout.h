// Layers that add noise in training mode.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct DropoutOptions {
  Scalar p = 0.5;  // the probability that an element, or a channel, is dropped
  bool inplace = false;
  PB_FIELDS(p, inplace)
  static constexpr LayerText text{.always = 2};
  void complete() const;
};

struct DropoutFunction : DropoutOptions {
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};
struct Dropout1dFunction : DropoutOptions {
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};
struct Dropout2dFunction : DropoutOptions {
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};
struct Dropout3dFunction : DropoutOptions {
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};
struct AlphaDropoutFunction : DropoutOptions {
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};
struct FeatureAlphaDropoutFunction : DropoutOptions {
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};

using Dropout = FunctionLayer<"Dropout", DropoutFunction>;
using Dropout1d = FunctionLayer<"Dropout1d", Dropout1dFunction>;
using Dropout2d = FunctionLayer<"Dropout2d", Dropout2dFunction>;
using Dropout3d = FunctionLayer<"Dropout3d", Dropout3dFunction>;
using AlphaDropout = FunctionLayer<"AlphaDropout", AlphaDropoutFunction>;
using FeatureAlphaDropout = FunctionLayer<"FeatureAlphaDropout", FeatureAlphaDropoutFunction>;

struct GaussianNoiseFunction {  // Burn's
  Scalar std = 1.0;
  PB_FIELDS(std)
  static constexpr LayerText text{.required = 1, .always = 1};
  void complete() const;
  TensorHandle operator()(const TensorHandle& x, bool training) const;
};
using GaussianNoise = FunctionLayer<"GaussianNoise", GaussianNoiseFunction>;

}  // namespace pyburn::nn
