#include "pyburn/nn/lazy.h"

#include <algorithm>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/init.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

// The option that the first call gives its value.
template <class C>
int64_t& input_size(C& config) {
  if constexpr (requires { config.in_features; }) return config.in_features;
  else if constexpr (requires { config.in_channels; }) return config.in_channels;
  else return config.num_features;
}

// The axis of the input that says which value.
int axis_of(const Linear&, const Shape& x) {
  require(x.rank() > 0, "LazyLinear expects an input with at least one dimension: got {}", x);
  return x.rank() - 1;
}
int channels_before(int axes, const Shape& x) {
  require(x.rank() == axes + 1 || x.rank() == axes + 2, "Expected {}D (unbatched) or {}D (batched) input, but got input of size: {}",
      axes + 1, axes + 2, x);
  return x.rank() - 1 - axes;
}
template <int N>
int axis_of(const Conv<N>&, const Shape& x) {
  return channels_before(N, x);
}
template <int N>
int axis_of(const ConvTranspose<N>&, const Shape& x) {
  return channels_before(N, x);
}
template <int N>
int axis_of(const BatchNorm<N>&, const Shape& x) {
  require<ValueError>(x.rank() >= 2, "expected at least 2D input (got {}D input)", x.rank());
  return 1;
}
template <int N>
int axis_of(const InstanceNorm<N>&, const Shape& x) {
  return channels_before(N, x);
}

}  // namespace

template <class L>
typename Lazy<L>::Config Lazy<L>::defaults() {
  Config config;
  if constexpr (std::is_same_v<Config, InstanceNormConfig>) config.affine = config.track_running_stats = true;
  return config;
}

template <class L>
Lazy<L>::Lazy(Config config, Placement placement) : L(config, Unfilled{}) {
  const init::Skip skip;
  if constexpr (requires { config.groups; }) input_size(config) = std::max<int64_t>(1, config.groups);
  else input_size(config) = 1;
  const Ref<L> pattern = make_ref<L>(config, placement);  // checks the options, and says which tensors there are
  this->config_ = pattern->options();
  input_size(this->config_) = 0;
  for (const Entry& e : pattern->entries()) {
    TensorHandle tensor = e.tensor;
    if (tensor.defined() && is_floating(tensor.dtype())) {
      tensor = fn::empty({0}, tensor.dtype(), &tensor.device());
      waiting_.push_back(e.name);
    }
    if (e.kind == Entry::Kind::buffer) this->register_buffer(e.name, tensor, e.persistent);
    else this->register_parameter(e.name, tensor.defined() ? Parameter(tensor) : TensorHandle());
  }
}

template <class L>
bool Lazy<L>::is_shapeless(std::string_view name) const {
  return std::find(waiting_.begin(), waiting_.end(), name) != waiting_.end();
}

template <class L>
void Lazy<L>::give_shape(std::string_view name, const Shape& shape) {
  if (!is_shapeless(name) || shape == Shape{0}) return;  // (0): saved by a layer that had no shape itself
  const TensorHandle tensor = this->tensor(name);
  autograd::set_data(tensor, fn::empty(shape, tensor.dtype(), &tensor.device()));
  std::erase(waiting_, name);
}

template <class L>
void Lazy<L>::complete(const TensorHandle& x) {
  Config config = this->config_;
  input_size(config) = x.shape()[axis_of(static_cast<const L&>(*this), x.shape())];
  Placement placement;
  if (!waiting_.empty()) {
    const TensorHandle tensor = this->tensor(waiting_[0]);  // it may have been moved meanwhile
    placement = {tensor.dtype(), &tensor.device()};
  }
  const Ref<L> made = make_ref<L>(config, placement);
  for (const std::string& name : waiting_) autograd::set_data(this->tensor(name), made->tensor(name));
  waiting_.clear();
  this->config_ = made->options();
  is_complete_ = true;
}

template class Lazy<Linear>;
template class Lazy<Conv<1>>;
template class Lazy<Conv<2>>;
template class Lazy<Conv<3>>;
template class Lazy<ConvTranspose<1>>;
template class Lazy<ConvTranspose<2>>;
template class Lazy<ConvTranspose<3>>;
template class Lazy<BatchNorm<1>>;
template class Lazy<BatchNorm<2>>;
template class Lazy<BatchNorm<3>>;
template class Lazy<InstanceNorm<1>>;
template class Lazy<InstanceNorm<2>>;
template class Lazy<InstanceNorm<3>>;

}  // namespace pyburn::nn
