// The layers of C++ as classes of pyburn.nn: a line each.
#include "layer_class.h"
#include "pyburn/nn/nn.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {

void bind_layers_conv(nb::module_& m);
void bind_layers_norm(nb::module_& m);
void bind_layers_embedding(nb::module_& m);
void bind_layers_rnn(nb::module_& m);
void bind_layers_attention(nb::module_& m);

void bind_layers(nb::module_& m) {
  bind_layer<nn::Linear>(m, "y = x @ weight.T + bias.\n\n>>> pyburn.nn.Linear(3, 2)(pyburn.ones(4, 3)).shape");
  bind_layer<nn::Conv1d>(
      m, "A convolution over sequences (N, C, L).\n\n>>> pyburn.nn.Conv1d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 5)).shape");
  bind_layer<nn::Conv2d>(
      m, "A convolution over images (N, C, H, W).\n\n>>> pyburn.nn.Conv2d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 5, 5)).shape");
  bind_layer<nn::Conv3d>(
      m, "A convolution over volumes (N, C, D, H, W).\n\n>>> pyburn.nn.Conv3d(3, 8, 3, padding=1)(pyburn.ones(1, 3, 4, 5, 5)).shape");
  bind_layer<nn::ReLU>(m, "The elements, with 0 in place of negative ones.\n\n>>> pyburn.nn.ReLU()(pyburn.tensor([-1.0, 1.0]))");
  bind_layer<nn::Flatten>(m, "The axes from start_dim to end_dim as one.\n\n>>> pyburn.nn.Flatten()(pyburn.ones(2, 3, 4)).shape");
  auto identity = bind_module_class<nn::Identity>(
      m, "Identity", "Gives its input back; takes any arguments.\n\n>>> pyburn.nn.Identity()(pyburn.ones(2))");
  identity.def("__init__", [](nn::Identity* self, nb::args, nb::kwargs) { new (self) nn::Identity(); });
  bind_forward(identity, &nn::Identity::forward, "input"_a);
  bind_layer<nn::Dropout>(m, "Drops elements by chance while it trains.\n\n>>> pyburn.nn.Dropout(0.2)(pyburn.ones(4)).shape");
  bind_layers_conv(m);
  bind_layers_norm(m);
  bind_layers_embedding(m);
  bind_layers_rnn(m);
  bind_layers_attention(m);
}

}  // namespace pyburn::python
