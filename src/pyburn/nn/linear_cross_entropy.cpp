#include "pyburn/nn/linear_cross_entropy.h"

#include "pyburn/nn/linear.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/cross_entropy.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"

namespace pyburn::nn {
namespace {

// The shape of the linear layer's weight or bias with the axes of the places.
Dims in_places(const LinearCrossEntropyConfig& c) {
  Dims size{c.num_classes};
  for (int64_t n : c.out_features) size.push_back(n);
  return size;
}

}  // namespace

TensorHandle linear_cross_entropy(const TensorHandle& input, const TensorHandle& linear_weight, const TensorHandle& target,
    const TensorHandle& linear_bias, const LinearCrossEntropyOptions& options) {
  require<Error>(input.rank() == 1 || input.rank() == 2, "expected input with dimensionality 1 or 2, got {}", input.rank());
  require<Error>(linear_weight.rank() >= 2, "expected linear_weight with dimensionality at least 2, got {}", linear_weight.rank());
  Dims places = linear_weight.shape();  // the classes, and the places after them
  const int64_t features = places.back(), given = input.shape()[input.rank() - 1];
  places.pop_back();
  require<Error>(given == features, "expected equal input and linear_weight last dimensions (in_features), got {} and {}, respectively",
      given, features);
  require<Error>(!linear_bias.defined() || linear_bias.shape() == Shape(places), "expected linear_bias shape {}, got {}", places,
      linear_bias.defined() ? linear_bias.shape() : Shape());
  require<Error>(
      places.size() == 1 || input.rank() == 2, "K-dimensional loss requires batched input, (N, {}), got {}", features, input.shape());
  Dims size;
  if (input.rank() == 2) size.push_back(input.shape()[0]);
  for (int64_t n : places) size.push_back(n);
  require<Error>(
      !options.ignore_index || !(target.shape() == Shape(size)), "ignore_index cannot be specified when target contains probabilities");
  const TensorHandle bias = linear_bias.defined() ? fn::reshape(linear_bias, {-1}) : linear_bias;
  const TensorHandle scores = fn::reshape(fn::linear(input, fn::reshape(linear_weight, {-1, features}), bias), size);
  return fn::cross_entropy(scores, target, options.weight, options.ignore_index.value_or(-100), options.reduction, options.label_smoothing);
}

LinearCrossEntropyLoss::LinearCrossEntropyLoss(LinearCrossEntropyConfig config, Placement p) : Layer(std::move(config)) {
  LinearCrossEntropyConfig& c = config_;
  const TensorHandle weight = std::exchange(c.weight, {});
  require<Error>(!weight.defined() || weight.shape() == Shape{c.num_classes}, "expected weight shape to be ({},), got {}", c.num_classes,
      weight.defined() ? weight.shape() : Shape());
  require<Error>(
      c.label_smoothing >= 0 && c.label_smoothing <= 1, "expected label_smoothing to be in range [0, 1], got {}", c.label_smoothing);
  register_buffer("weight", weight);
  register_module("linear", make_ref<Linear>(c.in_features, Shape(in_places(c)).numel(), c.bias, p));
}

TensorHandle LinearCrossEntropyLoss::forward(const TensorHandle& input, const TensorHandle& target) {
  const LinearCrossEntropyConfig& c = config_;
  Module& linear = child(*this, "linear");
  const TensorHandle bias = linear.tensor("bias");
  Dims size = in_places(c);
  const TensorHandle shaped_bias = bias.defined() ? fn::reshape(bias, size) : bias;
  size.push_back(c.in_features);
  const std::optional<int64_t> ignored = c.ignore_index ? std::optional(int64_t(c.ignore_index->to_double())) : std::nullopt;
  return linear_cross_entropy(
      input, fn::reshape(needed(linear, "weight"), size), target, shaped_bias, {tensor("weight"), c.reduction, ignored, c.label_smoothing});
}

}  // namespace pyburn::nn
