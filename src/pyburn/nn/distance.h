// Layers that compute distances between two tensors.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct CosineSimilarityFunction {
  int64_t dim = 1;
  Scalar eps = 1e-8;
  PB_FIELDS(dim, eps)
  static constexpr LayerText text{.printed = false};
  TensorHandle operator()(const TensorHandle& x1, const TensorHandle& x2) const;
};
struct PairwiseDistanceFunction {
  Scalar p = 2.0, eps = 1e-6;
  bool keepdim = false;
  PB_FIELDS(p, eps, keepdim)
  static constexpr LayerText text{.printed = false};
  TensorHandle operator()(const TensorHandle& x1, const TensorHandle& x2) const;
};

using CosineSimilarity = FunctionLayer<"CosineSimilarity", CosineSimilarityFunction>;
using PairwiseDistance = FunctionLayer<"PairwiseDistance", PairwiseDistanceFunction>;

}  // namespace pyburn::nn
