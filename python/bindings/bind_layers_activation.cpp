// Activations.
#include "layer_class.h"
#include "pyburn/nn/activation.h"
#include "pyburn/nn/softmax.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers_activation(nb::module_& m) {
  bind_layer<nn::ReLU>(m,
      "The elements, with 0 in place of negative ones."
      "\n\n>>> pyburn.nn.ReLU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::ReLU6>(m,
      "The elements, moved into the range from 0 to 6."
      "\n\n>>> pyburn.nn.ReLU6()(pyburn.tensor([-1.0, 0.5, 2.0]))")
      .def_prop_ro("min_val", [](const nn::ReLU6&) { return 0.0; })
      .def_prop_ro("max_val", [](const nn::ReLU6&) { return 6.0; });
  bind_layer<nn::SELU>(m,
      "elu with the constants that keep mean 0 and variance 1."
      "\n\n>>> pyburn.nn.SELU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::SiLU>(m,
      "x times sigmoid(x), also called swish."
      "\n\n>>> pyburn.nn.SiLU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Mish>(m,
      "x times tanh(softplus(x))."
      "\n\n>>> pyburn.nn.Mish()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Hardswish>(m,
      "x times Hardsigmoid()(x)."
      "\n\n>>> pyburn.nn.Hardswish()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Hardsigmoid>(m,
      "(x + 3) / 6, moved into the range from 0 to 1."
      "\n\n>>> pyburn.nn.Hardsigmoid()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Sigmoid>(m,
      "1 / (1 + exp(-x))."
      "\n\n>>> pyburn.nn.Sigmoid()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::LogSigmoid>(m,
      "log(sigmoid(x)), without loss of digits."
      "\n\n>>> pyburn.nn.LogSigmoid()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Tanh>(m,
      "The hyperbolic tangent."
      "\n\n>>> pyburn.nn.Tanh()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Tanhshrink>(m,
      "x - tanh(x)."
      "\n\n>>> pyburn.nn.Tanhshrink()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Softsign>(m,
      "x / (1 + |x|)."
      "\n\n>>> pyburn.nn.Softsign()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::ELU>(m,
      "x where it is positive, else alpha (exp(x) - 1)."
      "\n\n>>> pyburn.nn.ELU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::CELU>(m,
      "x where it is positive, else alpha (exp(x / alpha) - 1)."
      "\n\n>>> pyburn.nn.CELU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::LeakyReLU>(m,
      "The elements, with negative ones times negative_slope."
      "\n\n>>> pyburn.nn.LeakyReLU(0.1)(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::RReLU>(m,
      "Negative elements times a slope: drawn from [lower, upper) for each while training, else their mean."
      "\n\n>>> pyburn.nn.RReLU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Hardtanh>(m,
      "The elements, moved into the range from min_val to max_val."
      "\n\n>>> pyburn.nn.Hardtanh(0, 1)(pyburn.tensor([-1.0, 0.5, 2.0]))",
      "min_val, max_val, inplace, min_value, max_value");
  bind_layer<nn::Threshold>(m,
      "The elements, with value in place of those that are not above the threshold."
      "\n\n>>> pyburn.nn.Threshold(0.6, 0.0)(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::GELU>(m,
      "x times the normal distribution at x; approximate is 'none' or 'tanh'."
      "\n\n>>> pyburn.nn.GELU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Hardshrink>(m,
      "The elements, with 0 in place of those between -lambd and lambd."
      "\n\n>>> pyburn.nn.Hardshrink()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Softshrink>(m,
      "The elements, moved towards 0 by lambd and no further."
      "\n\n>>> pyburn.nn.Softshrink()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Softplus>(m,
      "log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold."
      "\n\n>>> pyburn.nn.Softplus()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::HardSigmoid>(m,
      "alpha x + beta, moved into the range from 0 to 1: Burn's form of Hardsigmoid."
      "\n\n>>> pyburn.nn.HardSigmoid()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::Shrink>(m,
      "x - bias above lambd, x + bias below -lambd, 0 between."
      "\n\n>>> pyburn.nn.Shrink(1.0, 0.25)(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::ThresholdedReLU>(m,
      "The elements above alpha, 0 in place of the others."
      "\n\n>>> pyburn.nn.ThresholdedReLU(1.0)(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::PReLU>(m,
      "The elements, with negative ones times a slope that is learned: one, or one per channel."
      "\n\n>>> pyburn.nn.PReLU()(pyburn.tensor([-1.0, 0.5, 2.0]))");
  bind_layer<nn::GLU>(m,
      "The first half along dim times the sigmoid of the second."
      "\n\n>>> pyburn.nn.GLU()(pyburn.ones(2, 4)).shape");
  bind_layer<nn::Softmax>(m,
      "exp(x), scaled to sum to 1 along dim."
      "\n\n>>> pyburn.nn.Softmax(dim=1)(pyburn.tensor([[0.0, 1.0]]))");
  bind_layer<nn::LogSoftmax>(m,
      "The logarithm of Softmax, computed without overflow."
      "\n\n>>> pyburn.nn.LogSoftmax(dim=1)(pyburn.tensor([[0.0, 1.0]]))");
  bind_layer<nn::Softmin>(m,
      "Softmax of -x."
      "\n\n>>> pyburn.nn.Softmin(dim=1)(pyburn.tensor([[0.0, 1.0]]))");
  bind_layer<nn::Softmax2d>(m,
      "Softmax over the channels of images (N, C, H, W) or (C, H, W)."
      "\n\n>>> pyburn.nn.Softmax2d()(pyburn.ones(1, 2, 1, 1))");
}

}  // namespace pyburn::python
