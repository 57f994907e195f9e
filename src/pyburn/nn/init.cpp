#include "pyburn/nn/init.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/random.h"

namespace pyburn::nn::init {

Fans fans(const TensorHandle& weight) {
  require(weight.rank() >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions: got {}", weight.shape());
  int64_t receptive = 1;
  for (int i = 2; i < weight.rank(); ++i) receptive *= weight.shape()[i];
  return {weight.shape()[1] * receptive, weight.shape()[0] * receptive};
}

void constant_(const TensorHandle& x, double value) {
  autograd::NoGrad no_grad;
  copy_into(x, fn::full({}, value, x.dtype(), &x.device()));
}
void uniform_(const TensorHandle& x, double low, double high) {
  autograd::NoGrad no_grad;
  fn::uniform_(x, low, high);
}
void normal_(const TensorHandle& x, double mean, double std) {
  autograd::NoGrad no_grad;
  fn::normal_(x, mean, std);
}

void kaiming_uniform_(const TensorHandle& weight, double a, FanMode mode) {
  if (weight.numel() == 0) return;
  const Fans f = fans(weight);
  const double gain = std::sqrt(2 / (1 + a * a)), fan = double(mode == FanMode::fan_in ? f.in : f.out);
  const double bound = gain * std::sqrt(3 / fan);
  init::uniform_(weight, -bound, bound);
}

void xavier_uniform_(const TensorHandle& weight, double gain) {
  const Fans f = fans(weight);
  const double bound = gain * std::sqrt(6 / double(f.in + f.out));
  init::uniform_(weight, -bound, bound);
}
void xavier_normal_(const TensorHandle& weight, double gain) {
  const Fans f = fans(weight);
  init::normal_(weight, 0, gain * std::sqrt(2 / double(f.in + f.out)));
}

void layer_default_(const TensorHandle& weight, const TensorHandle& bias) {
  kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const int64_t fan_in = fans(weight).in;
  const double bound = fan_in > 0 ? 1 / std::sqrt(double(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

}  // namespace pyburn::nn::init
