#include "pyburn/nn/fuse.h"

#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

template <class L>
Ref<L> fused(L& layer, AnyBatchNorm& norm, int axis) {
  require<ValueError>(!layer.training() && !norm.training(), "Fusion only for eval!");
  const TensorHandle mean = norm.tensor("running_mean"), var = norm.tensor("running_var");
  require<ValueError>(mean.defined() && var.defined(), "{} keeps no running statistics to fuse", norm.type_name());
  const NormStatistics statistics{mean, var, norm.options().eps, norm.tensor("weight"), norm.tensor("bias")};
  const FusedWeights w = fuse_bn_weights(layer.tensor("weight"), layer.tensor("bias"), statistics, axis);
  typename L::Config config = layer.options();
  config.bias = true;
  const auto made = make_ref<L>(config, Unfilled{});
  made->register_parameter("weight", w.weight);
  made->register_parameter("bias", w.bias);
  made->eval();
  return made;
}

}  // namespace

FusedWeights fuse_bn_weights(const TensorHandle& weight, const TensorHandle& bias, const NormStatistics& norm, int axis) {
  TensorHandle factor = fn::rsqrt(norm.var + norm.eps);
  if (norm.weight.defined()) factor = factor * norm.weight;
  TensorHandle shift = (bias.defined() ? bias - norm.mean : -norm.mean) * factor;
  if (norm.bias.defined()) shift = shift + norm.bias;
  Dims size(weight.rank(), 1);
  size[normalise_dim(axis, weight.rank())] = -1;
  const auto plain = [&](const TensorHandle& t) { return fn::detach(t.dtype() == weight.dtype() ? t : fn::cast(t, weight.dtype())); };
  const bool trains = weight.requires_grad(), trains_bias = bias.defined() ? bias.requires_grad() : trains;
  return {Parameter(plain(weight * fn::reshape(factor, size)), trains), Parameter(plain(shift), trains_bias)};
}

template <int N>
Ref<Conv<N>> fuse_conv_bn_eval(Conv<N>& conv, AnyBatchNorm& norm) {
  return fused(conv, norm, 0);
}
template <int N>
Ref<ConvTranspose<N>> fuse_conv_bn_eval(ConvTranspose<N>& conv, AnyBatchNorm& norm) {
  require<ValueError>(
      conv.options().groups == 1, "a transposed convolution with groups cannot be fused: got {} groups", conv.options().groups);
  return fused(conv, norm, 1);
}
Ref<Linear> fuse_linear_bn_eval(Linear& linear, AnyBatchNorm& norm) {
  const int64_t outputs = linear.options().out_features, features = norm.options().num_features;
  require<ValueError>(outputs == features || features == 1, "To fuse, linear.out_features == bn.num_features or bn.num_features == 1");
  return fused(linear, norm, 0);
}

template Ref<Conv<1>> fuse_conv_bn_eval(Conv<1>&, AnyBatchNorm&);
template Ref<Conv<2>> fuse_conv_bn_eval(Conv<2>&, AnyBatchNorm&);
template Ref<Conv<3>> fuse_conv_bn_eval(Conv<3>&, AnyBatchNorm&);
template Ref<ConvTranspose<1>> fuse_conv_bn_eval(ConvTranspose<1>&, AnyBatchNorm&);
template Ref<ConvTranspose<2>> fuse_conv_bn_eval(ConvTranspose<2>&, AnyBatchNorm&);
template Ref<ConvTranspose<3>> fuse_conv_bn_eval(ConvTranspose<3>&, AnyBatchNorm&);

}  // namespace pyburn::nn
