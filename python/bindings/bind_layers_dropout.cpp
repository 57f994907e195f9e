// Layers that add chance while they train.
#include "layer_class.h"
#include "pyburn/nn/dropout.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers_dropout(nb::module_& m) {
  bind_layer<nn::Dropout>(m,
      "Zeroes elements with probability p in training mode and scales the others by 1 / (1 - p).\n\n>>> "
      "pyburn.nn.Dropout(0.2)(pyburn.ones(3)).shape\npyburn.Size([3])");
  bind_layer<nn::Dropout1d>(m,
      "Zeroes whole channels of input (N, C, L) or (C, L) with probability p in training mode.\n\n>>> "
      "pyburn.nn.Dropout1d(0.2)(pyburn.ones(2, 3, 4)).shape\npyburn.Size([2, 3, 4])");
  bind_layer<nn::Dropout2d>(m,
      "Zeroes whole channels of input (N, C, H, W) with probability p in training mode.\n\n>>> pyburn.nn.Dropout2d(0.2)(pyburn.ones(2, 3, "
      "4, 4)).shape\npyburn.Size([2, 3, 4, 4])");
  bind_layer<nn::Dropout3d>(m,
      "Zeroes whole channels of input (N, C, D, H, W) or (C, D, H, W) with probability p in training mode.\n\n>>> "
      "pyburn.nn.Dropout3d(0.2)(pyburn.ones(2, 3, 2, 2, 2)).shape\npyburn.Size([2, 3, 2, 2, 2])");
  bind_layer<nn::AlphaDropout>(m,
      "Applies alpha dropout, which preserves mean and variance in networks with SELU activations.\n\n>>> "
      "pyburn.nn.AlphaDropout(0.2)(pyburn.ones(3)).shape\npyburn.Size([3])");
  bind_layer<nn::FeatureAlphaDropout>(m,
      "Applies alpha dropout to whole channels.\n\n>>> pyburn.nn.FeatureAlphaDropout(0.2)(pyburn.ones(2, 3, 4)).shape\npyburn.Size([2, 3, "
      "4])");
  bind_layer<nn::GaussianNoise>(m,
      "Adds normally distributed noise with standard deviation std in training mode.\n\n>>> "
      "pyburn.nn.GaussianNoise(0.1)(pyburn.ones(3)).shape\npyburn.Size([3])");
}

}  // namespace pyburn::python
