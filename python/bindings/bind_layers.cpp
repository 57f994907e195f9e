// The layers of C++ as classes of pyburn.nn: a line each, in a file per family.
#include "layer_class.h"
#include "pyburn/nn/nn.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers(nb::module_& m) {
  bind_layer<nn::Linear>(m,
      "Applies a linear transformation: y = x @ weight.T + bias. Input (*, in_features), output (*, out_features).\n\n>>> "
      "pyburn.nn.Linear(3, 2)(pyburn.ones(4, 3)).shape\npyburn.Size([4, 2])");
  bind_layer<nn::NonDynamicallyQuantizableLinear, nn::Linear>(m,
      "The output projection of attention: Linear.\n\n>>> "
      "pyburn.nn.modules.linear.NonDynamicallyQuantizableLinear(3, 2)(pyburn.ones(4, 3)).shape")
      .attr("__module__") = "pyburn.nn.modules.linear";  // not one of pyburn.nn
  bind_layer<nn::Conv1d>(m,
      "Applies a 1-d convolution. Input (N, C_in, L) or (C_in, L), output (N, C_out, L_out) or (C_out, L_out).\n\n>>> pyburn.nn.Conv1d(3, "
      "8, 3, padding=1)(pyburn.ones(1, 3, 5)).shape\npyburn.Size([1, 8, 5])");
  bind_layer<nn::Conv2d>(m,
      "Applies a 2-d convolution. Input (N, C_in, H, W) or (C_in, H, W), output (N, C_out, H_out, W_out) or (C_out, H_out, W_out).\n\n>>> "
      "pyburn.nn.Conv2d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 5, 5)).shape\npyburn.Size([1, 8, 5, 5])");
  bind_layer<nn::Conv3d>(m,
      "Applies a 3-d convolution. Input (N, C_in, D, H, W) or (C_in, D, H, W), output with C_out channels.\n\n>>> pyburn.nn.Conv3d(3, 8, "
      "3, padding=1)(pyburn.ones(1, 3, 4, 5, 5)).shape\npyburn.Size([1, 8, 4, 5, 5])");
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
