// Losses.
#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index_tensors.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// The negative log-probability of each target class; classes are axis 1. Ignored targets count as 0 and with weight 0.
TensorHandle negative_log_likelihood(Call& c, const TensorHandle& log_probs, const TensorHandle& target, const TensorHandle& weight) {
  const TensorHandle index = fn::cast(target, DType::int64);
  require(log_probs.rank() == index.rank() + 1 && log_probs.rank() >= 2,
      "[nll_loss] expected classes in axis 1 of the input: got {} for targets {}", log_probs.shape(), index.shape());
  TensorHandle safe = index, weights;
  if (c.has("ignore_index")) {
    const TensorHandle counts = fn::ne(index, c.integer("ignore_index"));
    safe = fn::where(counts, index, 0);
    weights = fn::cast(counts, log_probs.dtype());
  }
  const TensorHandle picked = fn::neg(fn::squeeze(fn::gather(log_probs, 1, fn::unsqueeze(safe, 1)), Dims{1}));
  if (weight.defined()) {
    const TensorHandle by_class = fn::_index(weight, {safe}, 0);
    weights = weights.defined() ? fn::mul(weights, by_class) : by_class;
  }
  const TensorHandle loss = weights.defined() ? fn::mul(picked, weights) : picked;
  const std::string reduction = c.text("reduction", "mean");
  if (reduction == "none") return loss;
  if (reduction == "sum") return fn::sum(loss);
  require<FormatError>(reduction == "mean", "[nll_loss] no such reduction: got '{}'", reduction);
  return weights.defined() ? fn::div(fn::sum(loss), fn::sum(weights)) : fn::mean(loss);
}

Results nll_loss(Call& c) { return negative_log_likelihood(c, c.input(0), c.input(1), c.optional_input(2)); }

Results softmax_cross_entropy(Call& c) {
  const TensorHandle log_probs = fn::log_softmax(c.input(0), 1);
  return {negative_log_likelihood(c, log_probs, c.input(1), c.optional_input(2)), log_probs};
}

constexpr Operator kRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, nll_loss},
    {"", "SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy},
};

}  // namespace

std::span<const Operator> loss_operators() { return kRows; }

}  // namespace pyburn::onnx
