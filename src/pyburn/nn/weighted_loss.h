// Losses with weights, of classes or of elements, which are buffers: they move with the loss and are part of its state.
#pragma once
#include "pyburn/nn/loss.h"

namespace pyburn::nn {

// The function of a Config takes the weights after input and target.
template <LayerName Name, class C>
class WeightedLoss : public Layer<C> {
 public:
  using Function = TensorHandle(const TensorHandle&, const TensorHandle&);
  explicit WeightedLoss(C config = {}) : Layer<C>(std::move(config)) {
    keep("weight", this->config_.weight);
    if constexpr (with_positives) keep("pos_weight", this->config_.pos_weight);
  }
  WeightedLoss(C config, Unfilled) : WeightedLoss(std::move(config)) {}
  using Module::forward;
  TensorHandle forward(const TensorHandle& input, const TensorHandle& target) {
    if constexpr (with_positives) return this->config_(input, target, this->tensor("weight"), this->tensor("pos_weight"));
    else return this->config_(input, target, this->tensor("weight"));
  }
  std::string type_name() const override { return Name.letters; }

 private:
  static constexpr bool with_positives = requires(C c) { c.pos_weight; };
  void keep(const char* name, TensorOption& given) { this->register_buffer(name, std::exchange(given, {})); }
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
