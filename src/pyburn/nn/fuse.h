// Folds a batch normalisation in evaluation mode into the weights of the preceding layer.
#pragma once
#include "pyburn/nn/batch_norm.h"
#include "pyburn/nn/conv_transpose.h"
#include "pyburn/nn/linear.h"

namespace pyburn::nn {

struct NormStatistics {
  TensorHandle mean, var;
  double eps = 1e-5;
  TensorHandle weight, bias;  // may be undefined
};
struct FusedWeights {
  TensorHandle weight, bias;  // parameters
};
// `axis` of the weight is the output dimension. `bias` may be undefined.
FusedWeights fuse_bn_weights(const TensorHandle& weight, const TensorHandle& bias, const NormStatistics& norm, int axis = 0);

using AnyBatchNorm = ChannelNorm<BatchNormConfig>;  // BatchNorm1d, 2d, 3d

// A layer equivalent to the layer followed by the norm. Both must be in evaluation mode; ValueError otherwise.
template <int N>
Ref<Conv<N>> fuse_conv_bn_eval(Conv<N>& conv, AnyBatchNorm& norm);
template <int N>
Ref<ConvTranspose<N>> fuse_conv_bn_eval(ConvTranspose<N>& conv, AnyBatchNorm& norm);
Ref<Linear> fuse_linear_bn_eval(Linear& linear, AnyBatchNorm& norm);

}  // namespace pyburn::nn
