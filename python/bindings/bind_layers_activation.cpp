// Activations.
#include "layer_class.h"
#include "pyburn/nn/activation.h"
#include "pyburn/nn/softmax.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers_activation(nb::module_& m) {
  bind_layer<nn::ReLU>(m,
      "Applies the rectified linear unit element-wise: max(0, x).\n\n>>> pyburn.nn.ReLU()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([0.0000, 0.5000, 2.0000])");
  bind_layer<nn::ReLU6>(m,
      "Applies ReLU6 element-wise: min(max(0, x), 6).\n\n>>> pyburn.nn.ReLU6()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([0.0000, 0.5000, "
      "2.0000])")
      .def_prop_ro("min_val", [](const nn::ReLU6&) { return 0.0; })
      .def_prop_ro("max_val", [](const nn::ReLU6&) { return 6.0; });
  bind_layer<nn::SELU>(m,
      "Applies the scaled exponential linear unit element-wise, which preserves mean 0 and variance 1.\n\n>>> "
      "pyburn.nn.SELU()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-1.1113,  0.5254,  2.1014])");
  bind_layer<nn::SiLU>(m,
      "Applies the sigmoid linear unit (swish) element-wise: x * sigmoid(x).\n\n>>> pyburn.nn.SiLU()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([-0.2689,  0.3112,  1.7616])");
  bind_layer<nn::Mish>(m,
      "Applies the Mish activation element-wise: x * tanh(softplus(x)).\n\n>>> pyburn.nn.Mish()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([-0.3034,  0.3752,  1.9440])");
  bind_layer<nn::Hardswish>(m,
      "Applies the hard swish activation element-wise: x * hardsigmoid(x).\n\n>>> pyburn.nn.Hardswish()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([-0.3333,  0.2917,  1.6667])");
  bind_layer<nn::Hardsigmoid>(m,
      "Applies the hard sigmoid element-wise: (x + 3) / 6, clamped to [0, 1].\n\n>>> pyburn.nn.Hardsigmoid()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([0.3333, 0.5833, 0.8333])");
  bind_layer<nn::Sigmoid>(m,
      "Applies the logistic sigmoid element-wise: 1 / (1 + exp(-x)).\n\n>>> pyburn.nn.Sigmoid()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([0.2689, 0.6225, 0.8808])");
  bind_layer<nn::LogSigmoid>(m,
      "Computes log(sigmoid(x)) element-wise in a numerically stable way.\n\n>>> pyburn.nn.LogSigmoid()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([-1.3133, -0.4741, -0.1269])");
  bind_layer<nn::Tanh>(m,
      "Applies the hyperbolic tangent element-wise.\n\n>>> pyburn.nn.Tanh()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.7616,  0.4621,  "
      "0.9640])");
  bind_layer<nn::Tanhshrink>(m,
      "Applies tanh shrinkage element-wise: x - tanh(x).\n\n>>> pyburn.nn.Tanhshrink()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.2384,  "
      "0.0379,  1.0360])");
  bind_layer<nn::Softsign>(m,
      "Applies softsign element-wise: x / (1 + |x|).\n\n>>> pyburn.nn.Softsign()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.5000,  "
      "0.3333,  0.6667])");
  bind_layer<nn::ELU>(m,
      "Applies the exponential linear unit element-wise: x where x > 0, else alpha * (exp(x) - 1).\n\n>>> "
      "pyburn.nn.ELU()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.6321,  0.5000,  2.0000])");
  bind_layer<nn::CELU>(m,
      "Applies the continuously differentiable exponential linear unit element-wise: x where x > 0, else alpha * (exp(x / alpha) - "
      "1).\n\n>>> pyburn.nn.CELU()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.6321,  0.5000,  2.0000])");
  bind_layer<nn::LeakyReLU>(m,
      "Applies the leaky rectified linear unit element-wise: x where x > 0, else negative_slope * x.\n\n>>> "
      "pyburn.nn.LeakyReLU(0.1)(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.1000,  0.5000,  2.0000])");
  bind_layer<nn::RReLU>(m,
      "Applies the randomised leaky ReLU: the slope of negative elements is sampled from [lower, upper) in training mode, else their "
      "mean.\n\n>>> pyburn.nn.RReLU()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.2081,  0.5000,  2.0000])");
  bind_layer<nn::Hardtanh>(m,
      "Clamps all elements into the range [min_val, max_val].\n\n>>> pyburn.nn.Hardtanh(0, 1)(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([0.0000, 0.5000, 1.0000])",
      "min_val, max_val, inplace, min_value, max_value");
  bind_layer<nn::Threshold>(m,
      "Replaces elements that are not greater than threshold by value.\n\n>>> pyburn.nn.Threshold(0.6, 0.0)(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([0., 0., 2.])");
  bind_layer<nn::GELU>(m,
      "Applies the Gaussian error linear unit element-wise: x * Phi(x), with the standard normal distribution function Phi.\n\n>>> "
      "pyburn.nn.GELU()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.1587,  0.3457,  1.9545])");
  bind_layer<nn::Hardshrink>(m,
      "Applies hard shrinkage element-wise: 0 where |x| <= lambd, else x.\n\n>>> pyburn.nn.Hardshrink()(pyburn.tensor([-1.0, 0.5, "
      "2.0]))\ntensor([-1.,  0.,  2.])");
  bind_layer<nn::Softshrink>(m,
      "Applies soft shrinkage element-wise: moves each element towards 0 by lambd, and to 0 where |x| <= lambd.\n\n>>> "
      "pyburn.nn.Softshrink()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.5000,  0.0000,  1.5000])");
  bind_layer<nn::Softplus>(m,
      "Applies softplus element-wise: log(1 + exp(beta * x)) / beta, or x where beta * x > threshold.\n\n>>> "
      "pyburn.nn.Softplus()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([0.3133, 0.9741, 2.1269])");
  bind_layer<nn::HardSigmoid>(m,
      "Applies the hard sigmoid with slope and offset (as in Burn) element-wise: alpha * x + beta, clamped to [0, 1].\n\n>>> "
      "pyburn.nn.HardSigmoid()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([0.3000, 0.6000, 0.9000])");
  bind_layer<nn::Shrink>(m,
      "Applies shrinkage with an offset element-wise: x - bias where x > lambd, x + bias where x < -lambd, else 0.\n\n>>> "
      "pyburn.nn.Shrink(1.0, 0.25)(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([0.0000, 0.0000, 1.7500])");
  bind_layer<nn::ThresholdedReLU>(m,
      "Applies the thresholded ReLU element-wise: x where x > alpha, else 0.\n\n>>> pyburn.nn.ThresholdedReLU(1.0)(pyburn.tensor([-1.0, "
      "0.5, 2.0]))\ntensor([0., 0., 2.])");
  bind_layer<nn::PReLU>(m,
      "Applies the parametric rectified linear unit: x where x > 0, else weight * x, with one learned weight or one per channel.\n\n>>> "
      "pyburn.nn.PReLU()(pyburn.tensor([-1.0, 0.5, 2.0]))\ntensor([-0.2500,  0.5000,  2.0000], grad_fn=<WhereBackward0>)");
  bind_layer<nn::GLU>(m,
      "Applies the gated linear unit: the first half of the input along dim times the sigmoid of the second half.\n\n>>> "
      "pyburn.nn.GLU()(pyburn.ones(2, 4)).shape\npyburn.Size([2, 2])");
  bind_layer<nn::Softmax>(m,
      "Applies softmax along dim: exp(x) / sum(exp(x)).\n\n>>> pyburn.nn.Softmax(dim=1)(pyburn.tensor([[0.0, 1.0]]))\ntensor([[0.2689, "
      "0.7311]])");
  bind_layer<nn::LogSoftmax>(m,
      "Computes the logarithm of softmax along dim in a numerically stable way.\n\n>>> pyburn.nn.LogSoftmax(dim=1)(pyburn.tensor([[0.0, "
      "1.0]]))\ntensor([[-1.3133, -0.3133]])");
  bind_layer<nn::Softmin>(m,
      "Applies softmin along dim: softmax(-x).\n\n>>> pyburn.nn.Softmin(dim=1)(pyburn.tensor([[0.0, 1.0]]))\ntensor([[0.7311, 0.2689]])");
  bind_layer<nn::Softmax2d>(m,
      "Applies softmax over the channels of images (N, C, H, W) or (C, H, W).\n\n>>> pyburn.nn.Softmax2d()(pyburn.ones(1, 2, 1, "
      "1)).flatten()\ntensor([0.5000, 0.5000])");
}

}  // namespace pyburn::python
