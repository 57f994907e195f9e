#include "pyburn/nn/norm.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/normalisation.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

void register_scale(Module& m, const Dims& size, bool weight, const Placement& p) {
  m.register_parameter("weight", weight ? Parameter(fn::ones(size, p.dtype, p.device)) : TensorHandle());
}
void register_shift(Module& m, const Dims& size, bool bias, const Placement& p) {
  m.register_parameter("bias", bias ? Parameter(fn::zeros(size, p.dtype, p.device)) : TensorHandle());
}
void fill(const TensorHandle& parameter, double value) {
  if (parameter.defined()) init::constant_(parameter, value);
}

}  // namespace

LayerNorm::LayerNorm(LayerNormConfig config, Placement p) : Layer(std::move(config)) {
  config_.bias = config_.bias && config_.elementwise_affine;
  register_scale(*this, config_.normalized_shape, config_.elementwise_affine, p);
  register_shift(*this, config_.normalized_shape, config_.bias, p);
}
void LayerNorm::reset_parameters() {
  fill(tensor("weight"), 1);
  fill(tensor("bias"), 0);
}
TensorHandle LayerNorm::forward(const TensorHandle& x) {
  return fn::layer_norm(x, config_.normalized_shape, tensor("weight"), tensor("bias"), config_.eps);
}

RMSNorm::RMSNorm(RMSNormConfig config, Placement p) : Layer(std::move(config)) {
  register_scale(*this, config_.normalized_shape, config_.elementwise_affine, p);
}
void RMSNorm::reset_parameters() { fill(tensor("weight"), 1); }
TensorHandle RMSNorm::forward(const TensorHandle& x) {
  const std::optional<double> eps = config_.eps ? std::optional(config_.eps->to_double()) : std::nullopt;
  return fn::rms_norm(x, config_.normalized_shape, tensor("weight"), eps);
}

GroupNorm::GroupNorm(GroupNormConfig config, Placement p) : Layer(std::move(config)) {
  GroupNormConfig& c = config_;
  c.bias = c.bias && c.affine;
  require<ValueError>(c.num_groups > 0 && c.num_channels % c.num_groups == 0, "num_channels ({}) must be divisible by num_groups ({})",
      c.num_channels, c.num_groups);
  register_scale(*this, {c.num_channels}, c.affine, p);
  register_shift(*this, {c.num_channels}, c.bias, p);
}
void GroupNorm::reset_parameters() {
  fill(tensor("weight"), 1);
  fill(tensor("bias"), 0);
}
TensorHandle GroupNorm::forward(const TensorHandle& x) {
  return fn::group_norm(x, config_.num_groups, tensor("weight"), tensor("bias"), config_.eps);
}

TensorHandle LocalResponseNormFunction::operator()(const TensorHandle& x) const {
  return fn::local_response_norm(x, size, alpha.to_double(), beta.to_double(), k.to_double());
}

TensorHandle CrossMapLRN2dFunction::operator()(const TensorHandle& x) const {
  require(x.rank() == 4, "CrossMapLRN2d: expected input to be 4D, got {}D instead", x.rank());
  require<ValueError>(size > 0, "expected a size of at least 1: got {}", size);
  const int64_t width = size - 1 + size % 2;
  return fn::local_response_norm(x, width, alpha.to_double() * double(width) / double(size), beta.to_double(), k.to_double());
}

}  // namespace pyburn::nn
