#include "pyburn/nn/conv.h"

#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/conv_functions.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

template <int N>
ConvConfig<N> checked(ConvConfig<N> c) {
  require<ValueError>(c.groups > 0, "groups must be a positive integer");
  require<ValueError>(c.in_channels % c.groups == 0, "in_channels must be divisible by groups");
  require<ValueError>(c.out_channels % c.groups == 0, "out_channels must be divisible by groups");
  c.kernel_size = per_axis(c.kernel_size, N, "kernel_size");
  c.stride = per_axis(c.stride, N, "stride");
  c.dilation = per_axis(c.dilation, N, "dilation");
  if (c.padding.rule.empty()) {
    c.padding.sizes = per_axis(c.padding.sizes, N, "padding");
  } else {
    require<ValueError>(c.padding.rule == "valid" || c.padding.rule == "same",
        "Invalid padding string '{}', should be one of {'valid', 'same'}", c.padding.rule);
    for (int64_t s : c.stride)
      require<ValueError>(c.padding.rule == "valid" || s == 1, "padding='same' is not supported for strided convolutions");
  }
  require<ValueError>(
      c.padding_mode == "zeros" || c.padding_mode == "reflect" || c.padding_mode == "replicate" || c.padding_mode == "circular",
      "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got padding_mode='{}'", c.padding_mode);
  return c;
}

// The amounts that fn::pad wants: of the last axis first, before and after.
template <int N>
Dims pad_amounts(const ConvConfig<N>& c) {
  Dims amounts;
  for (int i = N - 1; i >= 0; --i) {
    int64_t before = 0, after = 0;
    if (c.padding.rule.empty()) {
      before = after = c.padding.sizes[i];
    } else if (c.padding.rule == "same") {
      const int64_t total = c.dilation[i] * (Checked(c.kernel_size[i]) - 1);
      before = total / 2;
      after = total - before;
    }
    amounts.push_back(before);
    amounts.push_back(after);
  }
  return amounts;
}

template <int N>
TensorHandle convolve(
    const ConvConfig<N>& c, const TensorHandle& x, const TensorHandle& weight, const TensorHandle& bias, const auto& padding) {
  if constexpr (N == 1) return fn::conv1d(x, weight, bias, c.stride, padding, c.dilation, c.groups);
  else if constexpr (N == 2) return fn::conv2d(x, weight, bias, c.stride, padding, c.dilation, c.groups);
  else return fn::conv3d(x, weight, bias, c.stride, padding, c.dilation, c.groups);
}

}  // namespace

Dims per_axis(const Dims& v, int n, const char* name) {
  require<ValueError>(int(v.size()) == n || v.size() == 1, "expected 1 or {} numbers for {}: got {}", n, name, v);
  return int(v.size()) == n ? v : Dims(n, v[0]);
}

template <int N>
Conv<N>::Conv(ConvConfig<N> config, Placement p) : Layer<ConvConfig<N>>(checked(std::move(config))) {
  const ConvConfig<N>& c = this->config_;
  Dims size{c.out_channels, c.in_channels / c.groups};
  for (int64_t k : c.kernel_size) size.push_back(k);
  this->register_parameter("weight", Parameter(fn::empty(size, p.dtype, p.device)));
  this->register_parameter("bias", c.bias ? Parameter(fn::empty({c.out_channels}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

template <int N>
void Conv<N>::reset_parameters() {
  init::layer_default_(this->tensor("weight"), this->tensor("bias"));
}

template <int N>
TensorHandle Conv<N>::forward(const TensorHandle& x) {
  const ConvConfig<N>& c = this->config_;
  const TensorHandle &weight = needed(*this, "weight"), &bias = this->tensor("bias");
  if (c.padding_mode != "zeros") return convolve<N>(c, fn::pad(x, pad_amounts<N>(c), c.padding_mode), weight, bias, Dims{0});
  return c.padding.rule.empty() ? convolve<N>(c, x, weight, bias, c.padding.sizes) : convolve<N>(c, x, weight, bias, c.padding.rule);
}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;

}  // namespace pyburn::nn
