// TripletMarginWithDistanceLoss: a loss with a distance of the program's own.
#pragma once
#include "pyburn/nn/loss.h"

namespace pyburn::nn {

using DistanceFunction = std::function<TensorHandle(const TensorHandle&, const TensorHandle&)>;

struct TripletMarginWithDistanceOptions {
  DistanceFunction distance_function = {};  // Euclidean distance unless it is given
  double margin = 1;
  bool swap = false;  // the nearer of anchor and positive counts as the distance from the negative
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
