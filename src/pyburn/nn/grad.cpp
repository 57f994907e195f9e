#include "pyburn/nn/grad.h"

#include "pyburn/nn/conv.h"
#include "pyburn/ops/generated/conv.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/support/error.h"

namespace pyburn::nn::grad {
namespace {

using Gradient = TensorHandle (*)(const TensorHandle&, const TensorHandle&, const Dims& size, const Dims& stride, const Dims& padding,
    const Dims& dilation, int64_t groups);

TensorHandle gradient(
    Gradient of_images, Gradient of_volumes, const TensorHandle& a, const TensorHandle& b, Dims size, const ConvOptions& o) {
  const int axes = int(size.size()) - 2;
  require(axes >= 1 && axes <= 3, "expected the size of a tensor of 3 to 5 dimensions: got {}", Shape(size));
  for (const TensorHandle* t : {&a, &b}) require(t->rank() == axes + 2, "expected tensors of {} dimensions: got {}", axes + 2, t->shape());
  Dims stride = per_axis(o.stride, axes, "stride"), padding = per_axis(o.padding, axes, "padding"),
       dilation = per_axis(o.dilation, axes, "dilation");
  if (axes > 1) return (axes == 2 ? of_images : of_volumes)(a, b, size, stride, padding, dilation, o.groups);
  // A line is an image of one row: there is no kernel for lines.
  size = {size[0], size[1], 1, size[2]}, stride = {1, stride[0]}, padding = {0, padding[0]}, dilation = {1, dilation[0]};
  return fn::squeeze(of_images(fn::unsqueeze(a, -2), fn::unsqueeze(b, -2), size, stride, padding, dilation, o.groups), Dims{-2});
}

}  // namespace

TensorHandle conv_input(const Dims& input_size, const TensorHandle& weight, const TensorHandle& grad_output, const ConvOptions& options) {
  return gradient(fn::conv2d_input, fn::conv3d_input, grad_output, weight, input_size, options);
}

TensorHandle conv_weight(const TensorHandle& input, const Dims& weight_size, const TensorHandle& grad_output, const ConvOptions& options) {
  return gradient(fn::conv2d_weight, fn::conv3d_weight, input, grad_output, weight_size, options);
}

}  // namespace pyburn::nn::grad
