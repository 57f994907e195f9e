// Layers that add chance while they train.
#include "layer_class.h"
#include "pyburn/nn/dropout.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers_dropout(nb::module_& m) {
  bind_layer<nn::Dropout>(m,
      "While training, elements become 0 with probability p and the others are scaled by 1 / (1 - p)."
      "\n\n>>> pyburn.nn.Dropout(0.2)(pyburn.ones(3)).shape");
  bind_layer<nn::Dropout1d>(m,
      "Dropout of whole channels of sequences (N, C, L)."
      "\n\n>>> pyburn.nn.Dropout1d(0.2)(pyburn.ones(2, 3, 4)).shape");
  bind_layer<nn::Dropout2d>(m,
      "Dropout of whole channels of images (N, C, H, W)."
      "\n\n>>> pyburn.nn.Dropout2d(0.2)(pyburn.ones(2, 3, 4, 4)).shape");
  bind_layer<nn::Dropout3d>(m,
      "Dropout of whole channels of volumes (N, C, D, H, W)."
      "\n\n>>> pyburn.nn.Dropout3d(0.2)(pyburn.ones(2, 3, 2, 2, 2)).shape");
  bind_layer<nn::AlphaDropout>(m,
      "Dropout for networks of SELU: keeps mean and variance."
      "\n\n>>> pyburn.nn.AlphaDropout(0.2)(pyburn.ones(3)).shape");
  bind_layer<nn::FeatureAlphaDropout>(m,
      "AlphaDropout of whole channels."
      "\n\n>>> pyburn.nn.FeatureAlphaDropout(0.2)(pyburn.ones(2, 3, 4)).shape");
  bind_layer<nn::GaussianNoise>(m,
      "While training, adds normal noise of standard deviation std."
      "\n\n>>> pyburn.nn.GaussianNoise(0.1)(pyburn.ones(3)).shape");
}

}  // namespace pyburn::python
