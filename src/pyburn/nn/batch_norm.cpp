#include "pyburn/nn/batch_norm.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/norm.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {

BatchNorm2d::BatchNorm2d(BatchNormConfig config, Placement p) : Layer(std::move(config)) {
  const BatchNormConfig& c = config_;
  const Dims size{c.num_features};
  register_parameter("weight", c.affine ? Parameter(fn::ones(size, p.dtype, p.device)) : TensorHandle());
  register_parameter("bias", c.affine && c.bias ? Parameter(fn::zeros(size, p.dtype, p.device)) : TensorHandle());
  const bool track = c.track_running_stats;
  register_buffer("running_mean", track ? fn::zeros(size, p.dtype, p.device) : TensorHandle());
  register_buffer("running_var", track ? fn::ones(size, p.dtype, p.device) : TensorHandle());
  register_buffer("num_batches_tracked", track ? fn::zeros({}, DType::int64, p.device) : TensorHandle());
}

void BatchNorm2d::reset_running_stats() {
  if (!config_.track_running_stats) return;
  init::constant_(tensor("running_mean"), 0);
  init::constant_(tensor("running_var"), 1);
  init::constant_(tensor("num_batches_tracked"), 0);
}

void BatchNorm2d::reset_parameters() {
  reset_running_stats();
  if (const TensorHandle& weight = tensor("weight"); weight.defined()) init::constant_(weight, 1);
  if (const TensorHandle& bias = tensor("bias"); bias.defined()) init::constant_(bias, 0);
}

double BatchNorm2d::next_momentum() {
  const TensorHandle& batches = tensor("num_batches_tracked");
  if (!training() || !batches.defined()) return config_.momentum ? config_.momentum->to_double() : 0;
  fn::add_into(batches, batches, 1);
  return config_.momentum ? config_.momentum->to_double() : 1 / read_number(batches);
}

TensorHandle BatchNorm2d::forward(const TensorHandle& x) {
  require<ValueError>(x.rank() == 4, "expected 4D input (got {}D input)", x.rank());
  const double momentum = next_momentum();
  const TensorHandle &mean = tensor("running_mean"), &var = tensor("running_var");
  const bool by_batch = training() || !mean.defined();
  const bool moves = training() && config_.track_running_stats;
  const TensorHandle none;
  return fn::batch_norm(x, !by_batch || moves ? mean : none, !by_batch || moves ? var : none, tensor("weight"), tensor("bias"), by_batch,
      momentum, config_.eps);
}

}  // namespace pyburn::nn
