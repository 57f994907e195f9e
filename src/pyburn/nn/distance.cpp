#include "pyburn/nn/distance.h"

#include "pyburn/ops/generated/loss.h"

namespace pyburn::nn {

TensorHandle CosineSimilarityFunction::operator()(const TensorHandle& x1, const TensorHandle& x2) const {
  return fn::cosine_similarity(x1, x2, dim, eps.to_double());
}
TensorHandle PairwiseDistanceFunction::operator()(const TensorHandle& x1, const TensorHandle& x2) const {
  return fn::pairwise_distance(x1, x2, p.to_double(), eps.to_double(), keepdim);
}

}  // namespace pyburn::nn
