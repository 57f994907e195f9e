#include "pyburn/nn/shape.h"

#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/interpolate.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/unfold.h"

namespace pyburn::nn {

TensorHandle FlattenFunction::operator()(const TensorHandle& x) const { return fn::flatten(x, start_dim, end_dim); }
TensorHandle UnflattenFunction::operator()(const TensorHandle& x) const { return fn::unflatten(x, dim, unflattened_size); }
TensorHandle UnfoldFunction::operator()(const TensorHandle& x) const { return fn::im2col(x, kernel_size, dilation, padding, stride); }
TensorHandle FoldFunction::operator()(const TensorHandle& x) const {
  return fn::col2im(x, output_size, kernel_size, dilation, padding, stride);
}
TensorHandle PixelShuffleFunction::operator()(const TensorHandle& x) const { return fn::pixel_shuffle(x, upscale_factor); }
TensorHandle PixelUnshuffleFunction::operator()(const TensorHandle& x) const { return fn::pixel_unshuffle(x, downscale_factor); }
TensorHandle ChannelShuffleFunction::operator()(const TensorHandle& x) const { return fn::channel_shuffle(x, groups); }

}  // namespace pyburn::nn
