// Activation functions of neural networks.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct LeakyRelu {
  double negative_slope = 0.01;
  PB_FIELDS(negative_slope)
  static LeakyRelu from(const TensorHandle&, double negative_slope) { return {negative_slope}; }
};
struct Elu {
  double alpha = 1, scale = 1, input_scale = 1;
  PB_FIELDS(alpha, scale, input_scale)
  static Elu from(const TensorHandle&, double alpha, double scale, double input_scale) { return {alpha, scale, input_scale}; }
};
struct Softplus {
  double beta = 1, threshold = 20;
  PB_FIELDS(beta, threshold)
  static Softplus from(const TensorHandle&, double beta, double threshold) { return {beta, threshold}; }
};
struct Hardtanh {
  Scalar min = -1, max = 1;
  PB_FIELDS(min, max)
  static Hardtanh from(const TensorHandle&, const Scalar& min, const Scalar& max) { return {min, max}; }
};
struct Threshold {
  Scalar threshold, value;
  PB_FIELDS(threshold, value)
  static Threshold from(const TensorHandle&, const Scalar& threshold, const Scalar& value) { return {threshold, value}; }
};
struct Shrink {
  double lambd = 0.5;
  PB_FIELDS(lambd)
  static Shrink from(const TensorHandle&, double lambd) { return {lambd}; }
};
struct Gelu {
  bool tanh = false;  // the approximation by tanh
  PB_FIELDS(tanh)
  static Gelu from(const TensorHandle&, const std::string& approximate);
  static Gelu from(const TensorHandle&, const TensorHandle&, const std::string& approximate);
};

namespace op {
extern OpInfo relu, sigmoid, gelu, gelu_gradient, silu, silu_gradient, mish, softplus, logsigmoid, hardtanh, hardswish, hardsigmoid,
    leaky_relu, elu, softshrink, hardshrink, threshold;
}

}  // namespace pyburn
