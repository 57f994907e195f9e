// Pooling over the last N dimensions of (N, C, ...) or (C, ...). One number applies to all dimensions.
#pragma once
#include "pyburn/nn/layer.h"
#include "pyburn/runtime/run.h"

namespace pyburn::nn {

template <int N>
struct MaxPoolFunction {
  Sizes kernel_size{1}, stride, padding{0}, dilation{1};  // default: the kernel size
  bool return_indices = false;                            // hosts: forward returns with_indices
  bool ceil_mode = false;
  PB_FIELDS(kernel_size, stride, padding, dilation, return_indices, ceil_mode)
  static constexpr LayerText text{.required = 1, .always = 6, .hidden = "return_indices"};
  void complete() { stride = stride.empty() ? kernel_size : stride; }
  TensorHandle operator()(const TensorHandle& x) const;
  Handles<2> with_indices(const TensorHandle& x) const;  // and the index of each maximum in its plane
};
using MaxPool1d = FunctionLayer<"MaxPool1d", MaxPoolFunction<1>>;
using MaxPool2d = FunctionLayer<"MaxPool2d", MaxPoolFunction<2>>;
using MaxPool3d = FunctionLayer<"MaxPool3d", MaxPoolFunction<3>>;

struct AvgPool1dFunction {
  Dims kernel_size{1}, stride, padding{0};
  bool ceil_mode = false, count_include_pad = true;
  PB_FIELDS(kernel_size, stride, padding, ceil_mode, count_include_pad)
  static constexpr LayerText text{.required = 1, .always = 3, .hidden = "ceil_mode, count_include_pad"};
  void complete();
  TensorHandle operator()(const TensorHandle& x) const;
};
template <int N>
struct AvgPoolFunction {
  Sizes kernel_size{1}, stride, padding{0};
  bool ceil_mode = false, count_include_pad = true;
  std::optional<Scalar> divisor_override;
  PB_FIELDS(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
  static constexpr LayerText text{.required = 1, .always = 3, .hidden = "ceil_mode, count_include_pad, divisor_override"};
  void complete() { stride = stride.empty() ? kernel_size : stride; }
  TensorHandle operator()(const TensorHandle& x) const;
};
using AvgPool1d = FunctionLayer<"AvgPool1d", AvgPool1dFunction>;
using AvgPool2d = FunctionLayer<"AvgPool2d", AvgPoolFunction<2>>;
using AvgPool3d = FunctionLayer<"AvgPool3d", AvgPoolFunction<3>>;

template <int N>
struct LPPoolFunction {
  Scalar norm_type = 2.0;
  Sizes kernel_size{1}, stride;
  bool ceil_mode = false;
  PB_FIELDS(norm_type, kernel_size, stride, ceil_mode)
  static constexpr LayerText text{.required = 2, .always = 4};
  void complete() const;
  TensorHandle operator()(const TensorHandle& x) const;
};
using LPPool1d = FunctionLayer<"LPPool1d", LPPoolFunction<1>>;
using LPPool2d = FunctionLayer<"LPPool2d", LPPoolFunction<2>>;
using LPPool3d = FunctionLayer<"LPPool3d", LPPoolFunction<3>>;

// A dimension of output_size that is left open keeps its size.
template <int N>
struct AdaptiveAvgPoolFunction {
  Sizes output_size;
  PB_FIELDS(output_size)
  static constexpr LayerText text{.required = 1, .always = 1};
  TensorHandle operator()(const TensorHandle& x) const;
};
template <int N>
struct AdaptiveMaxPoolFunction {
  Sizes output_size;
  bool return_indices = false;
  PB_FIELDS(output_size, return_indices)
  static constexpr LayerText text{.required = 1, .always = 1, .hidden = "return_indices"};
  TensorHandle operator()(const TensorHandle& x) const { return with_indices(x)[0]; }
  Handles<2> with_indices(const TensorHandle& x) const;
};
using AdaptiveAvgPool1d = FunctionLayer<"AdaptiveAvgPool1d", AdaptiveAvgPoolFunction<1>>;
using AdaptiveAvgPool2d = FunctionLayer<"AdaptiveAvgPool2d", AdaptiveAvgPoolFunction<2>>;
using AdaptiveAvgPool3d = FunctionLayer<"AdaptiveAvgPool3d", AdaptiveAvgPoolFunction<3>>;
using AdaptiveMaxPool1d = FunctionLayer<"AdaptiveMaxPool1d", AdaptiveMaxPoolFunction<1>>;
using AdaptiveMaxPool2d = FunctionLayer<"AdaptiveMaxPool2d", AdaptiveMaxPoolFunction<2>>;
using AdaptiveMaxPool3d = FunctionLayer<"AdaptiveMaxPool3d", AdaptiveMaxPoolFunction<3>>;

// The inverse of a MaxPool, from its outputs and indices; output_size selects one of several possible sizes.
template <int N>
struct MaxUnpoolFunction {
  Dims kernel_size{1}, stride, padding{0};
  PB_FIELDS(kernel_size, stride, padding)
  static constexpr LayerText text{.required = 1, .always = 3};
  void complete();
  TensorHandle operator()(const TensorHandle& x, const TensorHandle& indices, const OptionalDims& output_size) const;
};
using MaxUnpool1d = FunctionLayer<"MaxUnpool1d", MaxUnpoolFunction<1>>;
using MaxUnpool2d = FunctionLayer<"MaxUnpool2d", MaxUnpoolFunction<2>>;
using MaxUnpool3d = FunctionLayer<"MaxUnpool3d", MaxUnpoolFunction<3>>;

}  // namespace pyburn::nn
