// Pools.
#include "layer_class.h"
#include "pyburn/nn/fractional_pool.h"
#include "pyburn/nn/pool.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

template <class L>
void bind_unpool(nb::module_& m, const char* doc) {
  bind_layer<L>(m, doc).def(
      "forward",
      [](L& self, const TensorHandle& input, const TensorHandle& indices, nb::handle output_size) {
        return self.forward(input, indices, output_size.is_none() ? OptionalDims() : OptionalDims(to_dims(output_size.ptr())));
      },
      "input"_a, "indices"_a, "output_size"_a.none() = nb::none());
}

}  // namespace

void bind_layers_pooling(nb::module_& m) {
  bind_layer<nn::MaxPool1d>(m,
      "Applies 1-d max pooling to input (N, C, L) or (C, L).\n\n>>> pyburn.nn.MaxPool1d(2)(pyburn.ones(1, 1, 8)).shape\npyburn.Size([1, 1, "
      "4])");
  bind_layer<nn::MaxPool2d>(m,
      "Applies 2-d max pooling to input (N, C, H, W) or (C, H, W).\n\n>>> pyburn.nn.MaxPool2d(2)(pyburn.ones(1, 1, 8, "
      "8)).shape\npyburn.Size([1, 1, 4, 4])");
  bind_layer<nn::MaxPool3d>(m,
      "Applies 3-d max pooling to input (N, C, D, H, W) or (C, D, H, W).\n\n>>> pyburn.nn.MaxPool3d(2)(pyburn.ones(1, 1, 8, 8, "
      "8)).shape\npyburn.Size([1, 1, 4, 4, 4])");
  bind_layer<nn::AvgPool1d>(m,
      "Applies 1-d average pooling to input (N, C, L) or (C, L).\n\n>>> pyburn.nn.AvgPool1d(2)(pyburn.ones(1, 1, "
      "8)).shape\npyburn.Size([1, 1, 4])");
  bind_layer<nn::AvgPool2d>(m,
      "Applies 2-d average pooling to input (N, C, H, W) or (C, H, W).\n\n>>> pyburn.nn.AvgPool2d(2)(pyburn.ones(1, 1, 8, "
      "8)).shape\npyburn.Size([1, 1, 4, 4])");
  bind_layer<nn::AvgPool3d>(m,
      "Applies 3-d average pooling to input (N, C, D, H, W) or (C, D, H, W).\n\n>>> pyburn.nn.AvgPool3d(2)(pyburn.ones(1, 1, 8, 8, "
      "8)).shape\npyburn.Size([1, 1, 4, 4, 4])");
  bind_layer<nn::LPPool1d>(m,
      "Applies 1-d power-average pooling: the p-norm of each window, with p = norm_type.\n\n>>> pyburn.nn.LPPool1d(2, 2)(pyburn.ones(1, 1, "
      "8)).shape\npyburn.Size([1, 1, 4])");
  bind_layer<nn::LPPool2d>(m,
      "Applies 2-d power-average pooling: the p-norm of each window, with p = norm_type.\n\n>>> pyburn.nn.LPPool2d(2, 2)(pyburn.ones(1, 1, "
      "8, 8)).shape\npyburn.Size([1, 1, 4, 4])");
  bind_layer<nn::LPPool3d>(m,
      "Applies 3-d power-average pooling: the p-norm of each window, with p = norm_type.\n\n>>> pyburn.nn.LPPool3d(2, 2)(pyburn.ones(1, 1, "
      "8, 8, 8)).shape\npyburn.Size([1, 1, 4, 4, 4])");
  bind_layer<nn::AdaptiveAvgPool1d>(m,
      "Applies 1-d average pooling with windows chosen to give output_size.\n\n>>> pyburn.nn.AdaptiveAvgPool1d(3)(pyburn.ones(1, 1, "
      "8)).shape\npyburn.Size([1, 1, 3])");
  bind_layer<nn::AdaptiveAvgPool2d>(m,
      "Applies 2-d average pooling with windows chosen to give output_size.\n\n>>> pyburn.nn.AdaptiveAvgPool2d(3)(pyburn.ones(1, 1, 8, "
      "8)).shape\npyburn.Size([1, 1, 3, 3])");
  bind_layer<nn::AdaptiveAvgPool3d>(m,
      "Applies 3-d average pooling with windows chosen to give output_size.\n\n>>> pyburn.nn.AdaptiveAvgPool3d(3)(pyburn.ones(1, 1, 8, 8, "
      "8)).shape\npyburn.Size([1, 1, 3, 3, 3])");
  bind_layer<nn::AdaptiveMaxPool1d>(m,
      "Applies 1-d max pooling with windows chosen to give output_size.\n\n>>> pyburn.nn.AdaptiveMaxPool1d(3)(pyburn.ones(1, 1, "
      "8)).shape\npyburn.Size([1, 1, 3])");
  bind_layer<nn::AdaptiveMaxPool2d>(m,
      "Applies 2-d max pooling with windows chosen to give output_size.\n\n>>> pyburn.nn.AdaptiveMaxPool2d(3)(pyburn.ones(1, 1, 8, "
      "8)).shape\npyburn.Size([1, 1, 3, 3])");
  bind_layer<nn::AdaptiveMaxPool3d>(m,
      "Applies 3-d max pooling with windows chosen to give output_size.\n\n>>> pyburn.nn.AdaptiveMaxPool3d(3)(pyburn.ones(1, 1, 8, 8, "
      "8)).shape\npyburn.Size([1, 1, 3, 3, 3])");
  bind_layer<nn::FractionalMaxPool2d>(m,
      "Applies 2-d fractional max pooling (randomly placed windows) to input (N, C, H, W) or (C, H, W).\n\n>>> "
      "pyburn.nn.FractionalMaxPool2d(2, output_size=3)(pyburn.ones(1, 1, 8, 8)).shape\npyburn.Size([1, 1, 3, 3])");
  bind_layer<nn::FractionalMaxPool3d>(m,
      "Applies 3-d fractional max pooling (randomly placed windows) to input (N, C, D, H, W) or (C, D, H, W).\n\n>>> "
      "pyburn.nn.FractionalMaxPool3d(2, output_ratio=0.5)(pyburn.ones(1, 1, 8, 8, 8)).shape\npyburn.Size([1, 1, 4, 4, 4])");
  bind_unpool<nn::MaxUnpool1d>(m,
      "Inverts MaxPool1d: writes the input at the given indices and zeros elsewhere.\n\n>>> y, at = pyburn.nn.MaxPool1d(2, "
      "return_indices=True)(pyburn.ones(1, 1, 8))\n>>> pyburn.nn.MaxUnpool1d(2)(y, at).shape\npyburn.Size([1, 1, 8])");
  bind_unpool<nn::MaxUnpool2d>(m,
      "Inverts MaxPool2d: writes the input at the given indices and zeros elsewhere.\n\n>>> y, at = pyburn.nn.MaxPool2d(2, "
      "return_indices=True)(pyburn.ones(1, 1, 8, 8))\n>>> pyburn.nn.MaxUnpool2d(2)(y, at).shape\npyburn.Size([1, 1, 8, 8])");
  bind_unpool<nn::MaxUnpool3d>(m,
      "Inverts MaxPool3d: writes the input at the given indices and zeros elsewhere.\n\n>>> y, at = pyburn.nn.MaxPool3d(2, "
      "return_indices=True)(pyburn.ones(1, 1, 8, 8, 8))\n>>> pyburn.nn.MaxUnpool3d(2)(y, at).shape\npyburn.Size([1, 1, 8, 8, 8])");
}

}  // namespace pyburn::python
