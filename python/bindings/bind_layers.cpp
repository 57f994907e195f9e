// The layers of C++ as classes of pyburn.nn: a line each, in a file per family.
#include "layer_class.h"
#include "pyburn/nn/nn.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers(nb::module_& m) {
  bind_layer<nn::Linear>(m, "y = x @ weight.T + bias.\n\n>>> pyburn.nn.Linear(3, 2)(pyburn.ones(4, 3)).shape");
  bind_layer<nn::NonDynamicallyQuantizableLinear, nn::Linear>(m,
      "The last layer of attention: Linear.\n\n>>> "
      "pyburn.nn.modules.linear.NonDynamicallyQuantizableLinear(3, 2)(pyburn.ones(4, 3)).shape")
      .attr("__module__") = "pyburn.nn.modules.linear";  // not one of pyburn.nn
  bind_layer<nn::Conv1d>(
      m, "A convolution over sequences (N, C, L).\n\n>>> pyburn.nn.Conv1d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 5)).shape");
  bind_layer<nn::Conv2d>(
      m, "A convolution over images (N, C, H, W).\n\n>>> pyburn.nn.Conv2d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 5, 5)).shape");
  bind_layer<nn::Conv3d>(
      m, "A convolution over volumes (N, C, D, H, W).\n\n>>> pyburn.nn.Conv3d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 4, 5, 5)).shape");
  bind_layers_activation(m);
  bind_layers_dropout(m);
  bind_layers_loss(m);
  bind_layers_padding(m);
  bind_layers_pooling(m);
  bind_layers_shape(m);
  bind_layers_conv(m);
  bind_layers_norm(m);
  bind_layers_embedding(m);
  bind_layers_rnn(m);
  bind_layers_attention(m);
}

}  // namespace pyburn::python
