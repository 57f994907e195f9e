#include "pyburn/nn/batch_norm.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {

BatchNorm2d::BatchNorm2d(BatchNormConfig config, Placement p) : Layer(std::move(config)) {
  const BatchNormConfig& c = config_;
  const Dims size{c.num_features};
  register_parameter("weight", c.affine ? Parameter(ones(size, p.dtype, p.device)) : Tensor());
  register_parameter("bias", c.affine && c.bias ? Parameter(zeros(size, p.dtype, p.device)) : Tensor());
  const bool track = c.track_running_stats;
  register_buffer("running_mean", track ? zeros(size, p.dtype, p.device) : Tensor());
  register_buffer("running_var", track ? ones(size, p.dtype, p.device) : Tensor());
  register_buffer("num_batches_tracked", track ? zeros({}, DType::int64, p.device) : Tensor());
}

void BatchNorm2d::reset_running_stats() {
  if (!config_.track_running_stats) return;
  init::constant_(tensor("running_mean"), 0);
  init::constant_(tensor("running_var"), 1);
  init::constant_(tensor("num_batches_tracked"), 0);
}

void BatchNorm2d::reset_parameters() {
  reset_running_stats();
  if (const Tensor& weight = tensor("weight"); weight.defined()) init::constant_(weight, 1);
  if (const Tensor& bias = tensor("bias"); bias.defined()) init::constant_(bias, 0);
}

double BatchNorm2d::next_momentum() {
  const Tensor& batches = tensor("num_batches_tracked");
  if (!training() || !batches.defined()) return config_.momentum ? config_.momentum->to_double() : 0;
  batches.add_(1);
  return config_.momentum ? config_.momentum->to_double() : 1 / read_number(batches);
}

Tensor BatchNorm2d::forward(const Tensor& x) {
  require<ValueError>(x.rank() == 4, "expected 4D input (got {}D input)", x.rank());
  const double momentum = next_momentum();
  const Tensor &mean = tensor("running_mean"), &var = tensor("running_var");
  const bool by_batch = training() || !mean.defined();
  const bool moves = training() && config_.track_running_stats;
  const Tensor none;
  return batch_norm(x, !by_batch || moves ? mean : none, !by_batch || moves ? var : none, tensor("weight"), tensor("bias"), by_batch,
      momentum, config_.eps);
}

}  // namespace pyburn::nn
