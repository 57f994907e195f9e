#include "pyburn/nn/loss.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/loss.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

TensorHandle L1Function::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::l1_loss(input, target, reduction);
}
TensorHandle MSEFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::mse_loss(input, target, reduction);
}
TensorHandle SoftMarginFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::soft_margin_loss(input, target, reduction);
}
TensorHandle SmoothL1Function::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::smooth_l1_loss(input, target, reduction, beta.to_double());
}
TensorHandle HuberFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::huber_loss(input, target, reduction, delta.to_double());
}
TensorHandle KLDivFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::kl_div(input, target, reduction, log_target);
}
TensorHandle PoissonNLLFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::poisson_nll_loss(input, target, log_input, full, eps.to_double(), reduction);
}
TensorHandle HingeEmbeddingFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  return fn::hinge_embedding_loss(input, target, margin.to_double(), reduction);
}

void LpFunction::complete() const { require<ValueError>(p.to_double() > 0, "p must be positive: got {}", p); }
TensorHandle LpFunction::operator()(const TensorHandle& input, const TensorHandle& target) const {
  const TensorHandle power = fn::pow(fn::abs(input - target), p);
  if (reduction == "mean") return fn::mean(power);
  if (reduction == "sum") return fn::sum(power);
  require<ValueError>(reduction == "none", "{} is not a valid value for reduction", reduction);
  return power;
}

TensorHandle GaussianNLLFunction::operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& var) const {
  return fn::gaussian_nll_loss(input, target, var, full, eps.to_double(), reduction);
}
TensorHandle MarginRankingFunction::operator()(const TensorHandle& input1, const TensorHandle& input2, const TensorHandle& target) const {
  return fn::margin_ranking_loss(input1, input2, target, margin.to_double(), reduction);
}
TensorHandle CosineEmbeddingFunction::operator()(const TensorHandle& input1, const TensorHandle& input2, const TensorHandle& target) const {
  return fn::cosine_embedding_loss(input1, input2, target, margin.to_double(), reduction);
}
void TripletMarginFunction::complete() const {
  require<ValueError>(margin.to_double() > 0, "TripletMarginLoss: expected margin to be greater than 0, got {} instead", margin);
}
TensorHandle TripletMarginFunction::operator()(
    const TensorHandle& anchor, const TensorHandle& positive, const TensorHandle& negative) const {
  return fn::triplet_margin_loss(anchor, positive, negative, margin.to_double(), p.to_double(), eps.to_double(), swap, reduction);
}

}  // namespace pyburn::nn
