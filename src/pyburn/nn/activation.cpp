#include "pyburn/nn/activation.h"

#include "pyburn/nn/init.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/random_functions.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/assertion.h"

namespace pyburn::nn {
namespace {

// function(x, options...), written over x where inplace says so.
template <class... T>
TensorHandle apply(bool inplace, const TensorHandle& x, auto function, auto write, const T&... options) {
  if (!inplace) return function(x, options...);
  write(x, x, options...);
  return x;
}

}  // namespace

TensorHandle ReLUFunction::operator()(const TensorHandle& x) const { return apply(inplace, x, fn::relu, fn::relu_into); }
TensorHandle ReLU6Function::operator()(const TensorHandle& x) const {
  return apply(inplace, x, fn::hardtanh, fn::hardtanh_into, Scalar(0), Scalar(6));
}
TensorHandle SELUFunction::operator()(const TensorHandle& x) const {
  constexpr double alpha = 1.6732632423543772, scale = 1.0507009873554805;
  return apply(inplace, x, fn::elu, fn::elu_into, alpha, scale, 1.0);
}
TensorHandle SiLUFunction::operator()(const TensorHandle& x) const { return apply(inplace, x, fn::silu, fn::silu_into); }
TensorHandle MishFunction::operator()(const TensorHandle& x) const { return apply(inplace, x, fn::mish, fn::mish_into); }
TensorHandle HardswishFunction::operator()(const TensorHandle& x) const { return apply(inplace, x, fn::hardswish, fn::hardswish_into); }
TensorHandle HardsigmoidFunction::operator()(const TensorHandle& x) const {
  return apply(inplace, x, fn::hardsigmoid, fn::hardsigmoid_into);
}
TensorHandle SigmoidFunction::operator()(const TensorHandle& x) const { return fn::sigmoid(x); }
TensorHandle LogSigmoidFunction::operator()(const TensorHandle& x) const { return fn::logsigmoid(x); }
TensorHandle TanhFunction::operator()(const TensorHandle& x) const { return fn::tanh(x); }
TensorHandle TanhshrinkFunction::operator()(const TensorHandle& x) const { return fn::tanhshrink(x); }
TensorHandle SoftsignFunction::operator()(const TensorHandle& x) const { return fn::softsign(x); }

TensorHandle ELUFunction::operator()(const TensorHandle& x) const {
  return apply(inplace, x, fn::elu, fn::elu_into, alpha.to_double(), 1.0, 1.0);
}
TensorHandle CELUFunction::operator()(const TensorHandle& x) const {
  require<ValueError>(alpha.to_double() != 0, "alpha must not be 0");
  return apply(inplace, x, fn::elu, fn::elu_into, alpha.to_double(), 1.0, 1 / alpha.to_double());
}
TensorHandle LeakyReLUFunction::operator()(const TensorHandle& x) const {
  return apply(inplace, x, fn::leaky_relu, fn::leaky_relu_into, negative_slope.to_double());
}
TensorHandle RReLUFunction::operator()(const TensorHandle& x, bool training) const {
  const double low = lower.to_double(), high = upper.to_double();
  if (!training) return LeakyReLUFunction{(low + high) / 2, inplace}(x);
  return apply(inplace, x, fn::rrelu, fn::rrelu_into, low, high, true, nullptr);
}
void HardtanhFunction::complete() const {
  require<AssertionFailed>(max_val.to_double() > min_val.to_double(), "max_val ({}) must be greater than min_val ({})", max_val, min_val);
}
TensorHandle HardtanhFunction::operator()(const TensorHandle& x) const {
  return apply(inplace, x, fn::hardtanh, fn::hardtanh_into, min_val, max_val);
}
TensorHandle ThresholdFunction::operator()(const TensorHandle& x) const {
  return apply(inplace, x, fn::threshold, fn::threshold_into, threshold, value);
}
TensorHandle GELUFunction::operator()(const TensorHandle& x) const { return fn::gelu(x, approximate); }
TensorHandle HardshrinkFunction::operator()(const TensorHandle& x) const { return fn::hardshrink(x, lambd.to_double()); }
TensorHandle SoftshrinkFunction::operator()(const TensorHandle& x) const { return fn::softshrink(x, lambd.to_double()); }
TensorHandle SoftplusFunction::operator()(const TensorHandle& x) const { return fn::softplus(x, beta.to_double(), threshold.to_double()); }
TensorHandle GLUFunction::operator()(const TensorHandle& x) const { return fn::glu(x, dim); }

TensorHandle HardSigmoidFunction::operator()(const TensorHandle& x) const { return fn::clamp(x * alpha + beta, Scalar(0), Scalar(1)); }
TensorHandle ShrinkFunction::operator()(const TensorHandle& x) const {
  return fn::where(fn::gt(fn::abs(x), lambd), x - fn::sign(x) * bias, 0);
}
TensorHandle ThresholdedReLUFunction::operator()(const TensorHandle& x) const { return fn::threshold(x, alpha, 0); }

PReLU::PReLU(PReLUConfig config, Placement p) : Layer(std::move(config)) {
  register_parameter("weight", Parameter(fn::empty({config_.num_parameters}, p.dtype, p.device)));
  reset_parameters();
}
void PReLU::reset_parameters() { init::constant_(tensor("weight"), config_.init.to_double()); }
TensorHandle PReLU::forward(const TensorHandle& x) { return fn::prelu(x, tensor("weight")); }

}  // namespace pyburn::nn
