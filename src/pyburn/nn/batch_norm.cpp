#include "pyburn/nn/batch_norm.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/normalisation.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {

template <class C>
ChannelNorm<C>::ChannelNorm(C config, Placement p) : Layer<C>(std::move(config)) {
  C& c = this->config_;
  c.bias = c.bias && c.affine;
  const Dims size{c.num_features};
  this->register_parameter("weight", c.affine ? Parameter(fn::ones(size, p.dtype, p.device)) : TensorHandle());
  this->register_parameter("bias", c.bias ? Parameter(fn::zeros(size, p.dtype, p.device)) : TensorHandle());
  const bool track = c.track_running_stats;
  this->register_buffer("running_mean", track ? fn::zeros(size, p.dtype, p.device) : TensorHandle());
  this->register_buffer("running_var", track ? fn::ones(size, p.dtype, p.device) : TensorHandle());
  this->register_buffer("num_batches_tracked", track ? fn::zeros({}, DType::int64, p.device) : TensorHandle());
}

template <class C>
void ChannelNorm<C>::reset_running_stats() {
  if (!this->config_.track_running_stats) return;
  init::constant_(this->tensor("running_mean"), 0);
  init::constant_(this->tensor("running_var"), 1);
  init::constant_(this->tensor("num_batches_tracked"), 0);
}

template <class C>
void ChannelNorm<C>::reset_parameters() {
  reset_running_stats();
  if (const TensorHandle& weight = this->tensor("weight"); weight.defined()) init::constant_(weight, 1);
  if (const TensorHandle& bias = this->tensor("bias"); bias.defined()) init::constant_(bias, 0);
}

template <class C>
double ChannelNorm<C>::next_momentum() {
  const auto& momentum = this->config_.momentum;
  const TensorHandle& batches = this->tensor("num_batches_tracked");
  if (!this->training() || !this->config_.track_running_stats || !batches.defined()) return momentum ? momentum->to_double() : 0;
  fn::add_into(batches, batches, 1);
  return momentum ? momentum->to_double() : 1 / read_number(batches);
}

template <class C>
TensorHandle ChannelNorm<C>::normalised_by_batch(const TensorHandle& x) {
  const double momentum = next_momentum();
  const TensorHandle &mean = this->tensor("running_mean"), &var = this->tensor("running_var");
  const bool by_batch = this->training() || !mean.defined();
  const bool moves = this->training() && this->config_.track_running_stats;
  const TensorHandle none;
  return fn::batch_norm(x, !by_batch || moves ? mean : none, !by_batch || moves ? var : none, this->tensor("weight"), this->tensor("bias"),
      by_batch, momentum, this->config_.eps);
}

template <int N>
TensorHandle BatchNorm<N>::forward(const TensorHandle& x) {
  if constexpr (N == 1) require<ValueError>(x.rank() == 2 || x.rank() == 3, "expected 2D or 3D input (got {}D input)", x.rank());
  else require<ValueError>(x.rank() == N + 2, "expected {}D input (got {}D input)", N + 2, x.rank());
  return normalised_by_batch(x);
}

SyncBatchNorm::SyncBatchNorm(SyncBatchNormConfig config, Placement p) : ChannelNorm(std::move(config), p) {
  require<UnsupportedOp>(!config_.process_group, "SyncBatchNorm runs in a single process, as BatchNorm: process_group must be None");
}

TensorHandle SyncBatchNorm::forward(const TensorHandle& x) {
  require<ValueError>(x.rank() >= 2, "expected at least 2D input (got {}D input)", x.rank());
  return normalised_by_batch(x);
}

template <int N>
TensorHandle InstanceNorm<N>::forward(const TensorHandle& x) {
  const InstanceNormConfig& c = config_;
  require<ValueError>(x.rank() == N + 1 || x.rank() == N + 2, "expected {}D or {}D input (got {}D input)", N + 1, N + 2, x.rank());
  const bool alone = x.rank() == N + 1;  // one example, without an axis for the batch
  const int64_t channels = x.shape()[alone ? 0 : 1];
  require<ValueError>(channels == c.num_features || !(c.affine || c.track_running_stats),
      "expected input's size at dim={} to match num_features ({}), but got: {}.", alone ? 0 : 1, c.num_features, channels);
  const TensorHandle y = fn::instance_norm(alone ? fn::unsqueeze(x, 0) : x, tensor("running_mean"), tensor("running_var"), tensor("weight"),
      tensor("bias"), training() || !c.track_running_stats, c.momentum ? c.momentum->to_double() : 0, c.eps);
  return alone ? fn::select(y, 0, 0) : y;
}

template class ChannelNorm<BatchNormConfig>;
template class ChannelNorm<InstanceNormConfig>;
template class ChannelNorm<SyncBatchNormConfig>;
template class BatchNorm<1>;
template class BatchNorm<2>;
template class BatchNorm<3>;
template class InstanceNorm<1>;
template class InstanceNorm<2>;
template class InstanceNorm<3>;

}  // namespace pyburn::nn
