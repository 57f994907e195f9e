#include "pyburn/nn/deform_conv.h"

#include "pyburn/nn/conv.h"
#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/grid_sample.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn {
namespace {

// Where the taps stand along one axis without offsets: (taps, outputs).
TensorHandle places(int64_t taps, int64_t outputs, int64_t stride, int64_t padding, int64_t dilation, const TensorHandle& like) {
  const TensorHandle tap = fn::arange(0, taps, 1, like.dtype(), &like.device()) * double(dilation) - double(padding);
  return fn::unsqueeze(tap, 1) + fn::arange(0, outputs, 1, like.dtype(), &like.device()) * double(stride);
}
// Between -1 and 1 from the outer edge of the first pixel to that of the last, as grid_sample counts.
TensorHandle as_grid(const TensorHandle& pixels, int64_t extent) { return (pixels * 2 + 1) / double(extent) - 1; }

}  // namespace

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
  const int64_t n = x.shape()[0], taps = c.kernel_size[0] * c.kernel_size[1], moved = c.offset_groups;
  int64_t out[2];
  for (int i = 0; i < 2; ++i) {
    out[i] = (x.shape()[2 + i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel_size[i] - 1) - 1) / c.stride[i] + 1;
    require(out[i] > 0, "the kernel is larger than the padded input: got {} for {}", c.kernel_size, x.shape());
  }
  const Shape wanted(Dims{n, 2 * moved * taps, out[0], out[1]}), of_mask(Dims{n, moved * taps, out[0], out[1]});
  require(offset.shape() == wanted, "expected offsets {}: got {}", wanted, offset.shape());
  require(!mask.defined() || mask.shape() == of_mask, "expected a mask {}: got {}", of_mask, mask.defined() ? mask.shape() : Shape());

  // Axes: examples and groups, taps down, taps to the right, rows, columns.
  const Dims each{n * moved, c.kernel_size[0], c.kernel_size[1], out[0], out[1]};
  const TensorHandle by_tap = fn::reshape(offset, {n * moved, taps, 2, out[0], out[1]});
  const auto place = [&](int axis) {
    const TensorHandle fixed = places(c.kernel_size[axis], out[axis], c.stride[axis], c.padding[axis], c.dilation[axis], x);
    const Dims shape = axis == 0 ? Dims{1, c.kernel_size[0], 1, out[0], 1} : Dims{1, 1, c.kernel_size[1], 1, out[1]};
    const TensorHandle here = fn::reshape(fn::select(by_tap, 2, axis), each) + fn::reshape(fixed, shape);
    return fn::reshape(as_grid(here, x.shape()[2 + axis]), {n * moved, taps * out[0], out[1]});
  };
  const TensorHandle grid = fn::stack({place(1), place(0)}, -1);
  const TensorHandle grouped = fn::reshape(x, {n * moved, c.in_channels / moved, x.shape()[2], x.shape()[3]});
  TensorHandle seen =
      fn::reshape(fn::grid_sample(grouped, grid, "bilinear", "zeros", false), {n, moved, c.in_channels / moved, taps, out[0] * out[1]});
  if (mask.defined()) seen = seen * fn::reshape(mask, {n, moved, 1, taps, out[0] * out[1]});
  const TensorHandle columns = fn::reshape(seen, {n, c.groups, c.in_channels / c.groups * taps, out[0] * out[1]});
  const TensorHandle weight = fn::reshape(needed(*this, "weight"), {c.groups, c.out_channels / c.groups, c.in_channels / c.groups * taps});
  const TensorHandle y = fn::reshape(fn::matmul(weight, columns), {n, c.out_channels, out[0], out[1]});
  const TensorHandle bias = tensor("bias");
  return bias.defined() ? y + fn::reshape(bias, {c.out_channels, 1, 1}) : y;
}

}  // namespace pyburn::nn
