// TripletMarginWithDistanceLoss: a triplet loss with a custom distance function.
#pragma once
#include "pyburn/nn/loss.h"

namespace pyburn::nn {

using DistanceFunction = std::function<TensorHandle(const TensorHandle&, const TensorHandle&)>;

struct TripletMarginWithDistanceOptions {
  DistanceFunction distance_function = {};  // Euclidean distance by default
  double margin = 1;
  bool swap = false;  // use the smaller of the distances of anchor and positive to the negative
  std::string reduction = "mean";
};

// max(0, distance(anchor, positive) - distance(anchor, negative) + margin)
TensorHandle triplet_margin_with_distance_loss(const TensorHandle& anchor, const TensorHandle& positive, const TensorHandle& negative,
    const TripletMarginWithDistanceOptions& options = {});

class TripletMarginWithDistanceLoss : public Module {
 public:
  explicit TripletMarginWithDistanceLoss(TripletMarginWithDistanceOptions options = {});
  using Module::forward;
  TensorHandle forward(const TensorHandle& anchor, const TensorHandle& positive, const TensorHandle& negative) {
    return triplet_margin_with_distance_loss(anchor, positive, negative, options_);
  }
  PB_MODULE(TripletMarginWithDistanceLoss)

 private:
  TripletMarginWithDistanceOptions options_;
};

}  // namespace pyburn::nn
