#include "pyburn/nn/deform_conv.h"

#include <algorithm>

#include "pyburn/nn/conv.h"
#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/grid_sample.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"

namespace pyburn::nn {
namespace {

// The positions of the taps along one dimension without offsets: (taps, outputs).
TensorHandle places(int64_t taps, int64_t outputs, int64_t stride, int64_t padding, int64_t dilation, const TensorHandle& like) {
  const TensorHandle tap = fn::arange(0, taps, 1, like.dtype(), &like.device()) * double(dilation) - double(padding);
  return fn::unsqueeze(tap, 1) + fn::arange(0, outputs, 1, like.dtype(), &like.device()) * double(stride);
}
// Between -1 and 1 as grid_sample counts: from the center of the first pixel to that of the last, which keeps more places exact than from
// edge to edge, unless there is one pixel alone.
TensorHandle as_grid(const TensorHandle& pixels, int64_t extent, bool centers) {
  return centers ? pixels * 2 / double(extent - 1) - 1 : (pixels * 2 + 1) / double(extent) - 1;
}

}  // namespace

TensorHandle deform_conv2d(const TensorHandle& x, const TensorHandle& offset, const TensorHandle& weight, const TensorHandle& bias,
    const Dims& stride, const Dims& padding, const Dims& dilation, const TensorHandle& mask) {
  require(x.rank() == 4, "[deform_conv2d] expected images (N, C, H, W): got {}", x.shape());
  require(weight.rank() == 4, "[deform_conv2d] expected a weight (O, C, H, W): got {}", weight.shape());
  const int64_t n = x.shape()[0], channels = x.shape()[1], outputs = weight.shape()[0], per_group = weight.shape()[1];
  const int64_t kernel[2] = {weight.shape()[2], weight.shape()[3]}, taps = Checked(kernel[0]) * kernel[1];
  const int64_t groups = per_group > 0 ? channels / per_group : 0;
  require(taps > 0 && groups > 0 && groups * per_group == channels && outputs % groups == 0,
      "[deform_conv2d] weight and input do not match: got {} for {}", weight.shape(), x.shape());
  const Dims steps = per_axis(stride, 2, "stride"), around = per_axis(padding, 2, "padding"), apart = per_axis(dilation, 2, "dilation");
  int64_t out[2];
  for (int i = 0; i < 2; ++i) {
    require<ValueError>(steps[i] > 0 && around[i] >= 0 && apart[i] > 0,
        "[deform_conv2d] stride and dilation must be positive, and padding not negative: got {}, {} and {}", steps, apart, around);
    const int64_t room = x.shape()[2 + i] + 2 * Checked(around[i]) - Checked(apart[i]) * (kernel[i] - 1) - 1;
    require(room >= 0, "[deform_conv2d] the kernel is larger than the padded input: got {} for {}", weight.shape(), x.shape());
    out[i] = room / steps[i] + 1;
  }
  const int64_t moved = offset.rank() == 4 ? offset.shape()[1] / (2 * taps) : 0;  // groups of channels that are moved alike
  const Shape wanted(Dims{n, 2 * std::max<int64_t>(moved, 1) * taps, out[0], out[1]});
  require(offset.shape() == wanted && channels % moved == 0,
      "[deform_conv2d] expected offsets {}, or of more groups of the {} channels: got {}", wanted, channels, offset.shape());
  const Shape of_mask(Dims{n, moved * taps, out[0], out[1]});
  require(!mask.defined() || mask.shape() == of_mask, "[deform_conv2d] expected a mask {}: got {}", of_mask,
      mask.defined() ? mask.shape() : Shape());
  require(!bias.defined() || bias.shape() == Shape(Dims{outputs}), "[deform_conv2d] expected a bias ({},): got {}", outputs,
      bias.defined() ? bias.shape() : Shape());

  // Axes: examples and groups, taps down, taps to the right, rows, columns.
  const Dims each{n * moved, kernel[0], kernel[1], out[0], out[1]};
  const TensorHandle by_tap = fn::reshape(offset, {n * moved, taps, 2, out[0], out[1]});
  const bool centers = x.shape()[2] > 1 && x.shape()[3] > 1;
  const auto place = [&](int axis) {
    const TensorHandle fixed = places(kernel[axis], out[axis], steps[axis], around[axis], apart[axis], x);
    const Dims shape = axis == 0 ? Dims{1, kernel[0], 1, out[0], 1} : Dims{1, 1, kernel[1], 1, out[1]};
    const TensorHandle here = fn::reshape(fn::select(by_tap, 2, axis), each) + fn::reshape(fixed, shape);
    return fn::reshape(as_grid(here, x.shape()[2 + axis], centers), {n * moved, taps * out[0], out[1]});
  };
  const TensorHandle grid = fn::stack({place(1), place(0)}, -1);
  const TensorHandle grouped = fn::reshape(x, {n * moved, channels / moved, x.shape()[2], x.shape()[3]});
  TensorHandle seen =
      fn::reshape(fn::grid_sample(grouped, grid, "bilinear", "zeros", centers), {n, moved, channels / moved, taps, out[0] * out[1]});
  if (mask.defined()) seen = seen * fn::reshape(mask, {n, moved, 1, taps, out[0] * out[1]});
  const TensorHandle columns = fn::reshape(seen, {n, groups, per_group * taps, out[0] * out[1]});
  const TensorHandle filters = fn::reshape(weight, {groups, outputs / groups, per_group * taps});
  const TensorHandle y = fn::reshape(fn::matmul(filters, columns), {n, outputs, out[0], out[1]});
  return bias.defined() ? y + fn::reshape(bias, {outputs, 1, 1}) : y;
}

DeformConv2d::DeformConv2d(DeformConv2dConfig config, Placement p) : Layer(std::move(config)) {
  DeformConv2dConfig& c = config_;
  require<ValueError>(c.groups > 0 && c.in_channels % c.groups == 0, "in_channels must be divisible by groups");
  require<ValueError>(c.out_channels % c.groups == 0, "out_channels must be divisible by groups");
  require<ValueError>(c.offset_groups > 0 && c.in_channels % c.offset_groups == 0, "in_channels must be divisible by offset_groups");
  for (auto [sizes, name] :
      {std::pair{&c.kernel_size, "kernel_size"}, {&c.stride, "stride"}, {&c.padding, "padding"}, {&c.dilation, "dilation"}}) {
    *sizes = per_axis(*sizes, 2, name);
    for (int64_t n : *sizes) require<ValueError>(n > 0 || (n == 0 && sizes == &c.padding), "{} must be positive: got {}", name, *sizes);
  }
  register_parameter(
      "weight", Parameter(fn::empty({c.out_channels, c.in_channels / c.groups, c.kernel_size[0], c.kernel_size[1]}, p.dtype, p.device)));
  register_parameter("bias", c.bias ? Parameter(fn::empty({c.out_channels}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

void DeformConv2d::reset_parameters() { init::layer_default_(tensor("weight"), tensor("bias")); }

TensorHandle DeformConv2d::forward(const TensorHandle& x, const TensorHandle& offset, const TensorHandle& mask) {
  const DeformConv2dConfig& c = config_;
  require(x.rank() == 4 && x.shape()[1] == c.in_channels, "expected images (N, {}, H, W): got {}", c.in_channels, x.shape());
  const int64_t moves = 2 * Checked(c.offset_groups) * c.kernel_size[0] * c.kernel_size[1];
  require(offset.rank() == 4 && offset.shape()[1] == moves, "expected offsets (N, {}, H, W): got {}", moves, offset.shape());
  return deform_conv2d(x, offset, needed(*this, "weight"), tensor("bias"), c.stride, c.padding, c.dilation, mask);
}

}  // namespace pyburn::nn
