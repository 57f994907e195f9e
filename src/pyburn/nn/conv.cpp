#include "pyburn/nn/conv.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/generated/convolutions.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"

namespace pyburn::nn {
namespace {

Dims pair_of(const Dims& v, const char* name) {
  require<ValueError>(v.size() == 1 || v.size() == 2, "expected one or two numbers for {}: got {}", name, v);
  return v.size() == 1 ? Dims{v[0], v[0]} : v;
}

Conv2dConfig checked(Conv2dConfig c) {
  require<ValueError>(c.groups > 0, "groups must be a positive integer");
  require<ValueError>(c.in_channels % c.groups == 0, "in_channels must be divisible by groups");
  require<ValueError>(c.out_channels % c.groups == 0, "out_channels must be divisible by groups");
  c.kernel_size = pair_of(c.kernel_size, "kernel_size");
  c.stride = pair_of(c.stride, "stride");
  c.padding = pair_of(c.padding, "padding");
  c.dilation = pair_of(c.dilation, "dilation");
  return c;
}

}  // namespace

Dims same_padding(const Dims& kernel_size, const Dims& stride, const Dims& dilation) {
  const Dims kernel = pair_of(kernel_size, "kernel_size"), apart = pair_of(dilation, "dilation");
  for (int64_t s : stride) require<ValueError>(s == 1, "padding='same' is not supported for strided convolutions");
  Dims padding;
  for (int i = 0; i < 2; ++i) {
    const int64_t total = apart[i] * (kernel[i] - 1);
    require<ValueError>(
        total % 2 == 0, "padding='same' needs an even reach of the kernel: got kernel_size {} and dilation {}", kernel, apart);
    padding.push_back(total / 2);
  }
  return padding;
}

Conv2d::Conv2d(Conv2dConfig config, Placement p) : Layer(checked(std::move(config))) {
  const Conv2dConfig& c = config_;
  register_parameter(
      "weight", Parameter(fn::empty({c.out_channels, c.in_channels / c.groups, c.kernel_size[0], c.kernel_size[1]}, p.dtype, p.device)));
  register_parameter("bias", c.bias ? Parameter(fn::empty({c.out_channels}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

void Conv2d::reset_parameters() { init::layer_default_(tensor("weight"), tensor("bias")); }

TensorHandle Conv2d::forward(const TensorHandle& x) {
  const bool batched = x.rank() != 3;
  const TensorHandle y = fn::conv2d(batched ? x : fn::unsqueeze(x, 0), tensor("weight"), tensor("bias"), config_.stride, config_.padding,
      config_.dilation, config_.groups);
  return batched ? y : fn::squeeze(y, Dims{0});
}

}  // namespace pyburn::nn
