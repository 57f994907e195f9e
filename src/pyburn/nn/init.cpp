#include "pyburn/nn/init.h"

#include <numbers>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"

namespace pyburn::nn::init {
namespace {

double xavier_deviation(const TensorHandle& weight, double gain) {
  const Fans f = fans(weight);
  return gain * std::sqrt(2.0 / double(f.in + f.out));
}

double kaiming_deviation(const TensorHandle& weight, double a, FanMode mode, std::string_view nonlinearity) {
  const Fans f = fans(weight);
  return calculate_gain(nonlinearity, a) / std::sqrt(double(mode == FanMode::fan_in ? f.in : f.out));
}

void uniform_of_deviation_(const TensorHandle& x, double std, Generator* generator) {
  const double bound = std::sqrt(3.0) * std;
  init::uniform_(x, -bound, bound, generator);
}

}  // namespace

Fans fans(const TensorHandle& weight) {
  require<ValueError>(
      weight.rank() >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions: got {}", weight.shape());
  Checked receptive = 1;
  for (int i = 2; i < weight.rank(); ++i) receptive *= weight.shape()[i];
  return {Checked(weight.shape()[1]) * receptive, Checked(weight.shape()[0]) * receptive};
}

double calculate_gain(std::string_view nonlinearity, std::optional<double> param) {
  for (std::string_view linear :
      {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"})
    if (nonlinearity == linear) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 3.0 / 4;
  require<ValueError>(nonlinearity == "leaky_relu", "Unsupported nonlinearity {}", nonlinearity);
  const double slope = param.value_or(0.01);
  return std::sqrt(2 / (1 + slope * slope));
}

namespace {
thread_local int skips = 0;
}
Skip::Skip() { ++skips; }
Skip::~Skip() { --skips; }
bool is_skipped() { return skips > 0; }

void constant_(const TensorHandle& x, double value) {
  if (is_skipped()) return;
  autograd::NoGrad no_grad;
  copy_into(x, fn::full({}, value, x.dtype(), &x.device()));
}
void uniform_(const TensorHandle& x, double low, double high, Generator* generator) {
  if (is_skipped()) return;
  autograd::NoGrad no_grad;
  fn::uniform_(x, low, high, generator);
}
void normal_(const TensorHandle& x, double mean, double std, Generator* generator) {
  if (is_skipped()) return;
  autograd::NoGrad no_grad;
  fn::normal_(x, mean, std, generator);
}

void trunc_normal_(const TensorHandle& x, double mean, double std, double low, double high, Generator* generator) {
  if (is_skipped()) return;
  autograd::NoGrad no_grad;
  if (low <= mean - 6 * std && high >= mean + 6 * std) {  // two in a billion are further out: the usual start costs a normal draw
    fn::normal_(x, mean, std, generator);
    copy_into(x, fn::clamp(x, Scalar(low), Scalar(high)));
    return;
  }
  // A uniform number between the two values of the distribution function, and back through its inverse.
  const auto below = [&](double bound) { return std::erf((bound - mean) / (std * std::numbers::sqrt2)); };
  const TensorHandle u = fn::uniform_(fn::empty_like(x), below(low), below(high), generator);
  copy_into(x, fn::clamp(fn::erfinv(u) * (std * std::numbers::sqrt2) + mean, Scalar(low), Scalar(high)));
}

void xavier_uniform_(const TensorHandle& weight, double gain, Generator* generator) {
  uniform_of_deviation_(weight, xavier_deviation(weight, gain), generator);
}
void xavier_normal_(const TensorHandle& weight, double gain, Generator* generator) {
  init::normal_(weight, 0, xavier_deviation(weight, gain), generator);
}
void kaiming_uniform_(const TensorHandle& weight, double a, FanMode mode, std::string_view nonlinearity, Generator* generator) {
  if (weight.numel() > 0) uniform_of_deviation_(weight, kaiming_deviation(weight, a, mode, nonlinearity), generator);
}
void kaiming_normal_(const TensorHandle& weight, double a, FanMode mode, std::string_view nonlinearity, Generator* generator) {
  if (weight.numel() > 0) init::normal_(weight, 0, kaiming_deviation(weight, a, mode, nonlinearity), generator);
}

void layer_default_(const TensorHandle& weight, const TensorHandle& bias) {
  kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const int64_t fan_in = fans(weight).in;
  const double bound = fan_in > 0 ? 1 / std::sqrt(double(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

}  // namespace pyburn::nn::init
