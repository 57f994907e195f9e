#include "pyburn/nn/distance_loss.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/loss.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn {

TripletMarginWithDistanceLoss::TripletMarginWithDistanceLoss(TripletMarginWithDistanceOptions options) : options_(std::move(options)) {
  require<ValueError>(
      options_.margin > 0, "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {} instead", options_.margin);
}

TensorHandle triplet_margin_with_distance_loss(const TensorHandle& anchor, const TensorHandle& positive, const TensorHandle& negative,
    const TripletMarginWithDistanceOptions& options) {
  const std::string& reduction = options.reduction;
  require<ValueError>(reduction == "mean" || reduction == "sum" || reduction == "none",
      "[triplet_margin_with_distance_loss] reduction must be 'mean', 'sum' or 'none': got '{}'", reduction);
  require<ValueError>(options.margin > 0, "[triplet_margin_with_distance_loss] margin must be greater than 0: got {}", options.margin);
  const auto distance = [&](const TensorHandle& x, const TensorHandle& y) {
    return options.distance_function ? options.distance_function(x, y) : fn::pairwise_distance(x, y);
  };
  TensorHandle far = distance(anchor, negative);
  if (options.swap) far = fn::minimum(far, distance(positive, negative));
  const TensorHandle loss = fn::clamp_min(distance(anchor, positive) - far + options.margin, 0);
  return reduction == "mean" ? fn::mean(loss) : reduction == "sum" ? fn::sum(loss) : loss;
}

}  // namespace pyburn::nn
