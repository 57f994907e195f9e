// Losses with weights per class or per element, which are buffers: they move with the loss and are part of its state.
#pragma once
#include <utility>

#include "pyburn/nn/loss.h"

namespace pyburn::nn {

// The function of a Config takes the weights after input and target.
template <LayerName Name, class C>
class WeightedLoss : public FunctionLayerBase<Name, C> {
 public:
  using Function = TensorHandle(const TensorHandle&, const TensorHandle&);
  explicit WeightedLoss(C config = {}) : FunctionLayerBase<Name, C>(std::move(config)) { keep_weights(); }
  WeightedLoss(C config, Unfilled unfilled) : FunctionLayerBase<Name, C>(std::move(config), unfilled) { keep_weights(); }
  using Module::forward;
  PB_COPYABLE(WeightedLoss)
  TensorHandle forward(const TensorHandle& input, const TensorHandle& target) {
    if constexpr (with_positives) return this->config_(input, target, this->tensor("weight"), this->tensor("pos_weight"));
    else return this->config_(input, target, this->tensor("weight"));
  }

 private:
  static constexpr bool with_positives = requires(C c) { c.pos_weight; };
  void keep_weights() {
    this->register_buffer("weight", std::exchange(this->config_.weight, {}));
    if constexpr (with_positives) this->register_buffer("pos_weight", std::exchange(this->config_.pos_weight, {}));
  }
};

struct NLLFunction {
  TensorOption weight;
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  PB_FIELDS(weight, ignore_index, reduction)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const;
};
struct CrossEntropyFunction {
  TensorOption weight;
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  Scalar label_smoothing = 0.0;
  PB_FIELDS(weight, ignore_index, reduction, label_smoothing)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const;
};
struct BCEFunction {
  TensorOption weight;
  std::string reduction = "mean";
  PB_FIELDS(weight, reduction)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights) const;
};
struct BCEWithLogitsFunction {
  TensorOption weight;
  std::string reduction = "mean";
  TensorOption pos_weight;
  PB_FIELDS(weight, reduction, pos_weight)
  static constexpr LayerText text = silent;
  TensorHandle operator()(
      const TensorHandle& input, const TensorHandle& target, const TensorHandle& weights, const TensorHandle& positives) const;
};

using NLLLoss = WeightedLoss<"NLLLoss", NLLFunction>;
using NLLLoss2d = WeightedLoss<"NLLLoss2d", NLLFunction>;
using CrossEntropyLoss = WeightedLoss<"CrossEntropyLoss", CrossEntropyFunction>;
using BCELoss = WeightedLoss<"BCELoss", BCEFunction>;
using BCEWithLogitsLoss = WeightedLoss<"BCEWithLogitsLoss", BCEWithLogitsFunction>;

}  // namespace pyburn::nn
