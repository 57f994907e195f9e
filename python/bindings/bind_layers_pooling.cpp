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
      "The largest element of each window of sequences (N, C, L); with return_indices also where it is."
      "\n\n>>> pyburn.nn.MaxPool1d(2)(pyburn.ones(1, 1, 8)).shape");
  bind_layer<nn::MaxPool2d>(m,
      "The largest element of each window of images (N, C, H, W); with return_indices also where it is."
      "\n\n>>> pyburn.nn.MaxPool2d(2)(pyburn.ones(1, 1, 8, 8)).shape");
  bind_layer<nn::MaxPool3d>(m,
      "The largest element of each window of volumes (N, C, D, H, W); with return_indices also where it is."
      "\n\n>>> pyburn.nn.MaxPool3d(2)(pyburn.ones(1, 1, 8, 8, 8)).shape");
  bind_layer<nn::AvgPool1d>(m,
      "The mean of each window of sequences (N, C, L)."
      "\n\n>>> pyburn.nn.AvgPool1d(2)(pyburn.ones(1, 1, 8)).shape");
  bind_layer<nn::AvgPool2d>(m,
      "The mean of each window of images (N, C, H, W)."
      "\n\n>>> pyburn.nn.AvgPool2d(2)(pyburn.ones(1, 1, 8, 8)).shape");
  bind_layer<nn::AvgPool3d>(m,
      "The mean of each window of volumes (N, C, D, H, W)."
      "\n\n>>> pyburn.nn.AvgPool3d(2)(pyburn.ones(1, 1, 8, 8, 8)).shape");
  bind_layer<nn::LPPool1d>(m,
      "The norm of each window of sequences (N, C, L): the root of the sum of powers norm_type."
      "\n\n>>> pyburn.nn.LPPool1d(2, 2)(pyburn.ones(1, 1, 8)).shape");
  bind_layer<nn::LPPool2d>(m,
      "The norm of each window of images (N, C, H, W): the root of the sum of powers norm_type."
      "\n\n>>> pyburn.nn.LPPool2d(2, 2)(pyburn.ones(1, 1, 8, 8)).shape");
  bind_layer<nn::LPPool3d>(m,
      "The norm of each window of volumes (N, C, D, H, W): the root of the sum of powers norm_type."
      "\n\n>>> pyburn.nn.LPPool3d(2, 2)(pyburn.ones(1, 1, 8, 8, 8)).shape");
  bind_layer<nn::AdaptiveAvgPool1d>(m,
      "The means of as many windows of sequences (N, C, L) as output_size says."
      "\n\n>>> pyburn.nn.AdaptiveAvgPool1d(3)(pyburn.ones(1, 1, 8)).shape");
  bind_layer<nn::AdaptiveAvgPool2d>(m,
      "The means of as many windows of images (N, C, H, W) as output_size says."
      "\n\n>>> pyburn.nn.AdaptiveAvgPool2d(3)(pyburn.ones(1, 1, 8, 8)).shape");
  bind_layer<nn::AdaptiveAvgPool3d>(m,
      "The means of as many windows of volumes (N, C, D, H, W) as output_size says."
      "\n\n>>> pyburn.nn.AdaptiveAvgPool3d(3)(pyburn.ones(1, 1, 8, 8, 8)).shape");
  bind_layer<nn::AdaptiveMaxPool1d>(m,
      "The largest elements of as many windows of sequences (N, C, L) as output_size says; with return_indices also where they are."
      "\n\n>>> pyburn.nn.AdaptiveMaxPool1d(3)(pyburn.ones(1, 1, 8)).shape");
  bind_layer<nn::AdaptiveMaxPool2d>(m,
      "The largest elements of as many windows of images (N, C, H, W) as output_size says; with return_indices also where they are."
      "\n\n>>> pyburn.nn.AdaptiveMaxPool2d(3)(pyburn.ones(1, 1, 8, 8)).shape");
  bind_layer<nn::AdaptiveMaxPool3d>(m,
      "The largest elements of as many windows of volumes (N, C, D, H, W) as output_size says; with return_indices also where they are."
      "\n\n>>> pyburn.nn.AdaptiveMaxPool3d(3)(pyburn.ones(1, 1, 8, 8, 8)).shape");
  bind_layer<nn::FractionalMaxPool2d>(m,
      "The largest element of each of output_size windows at random places of images; or as many as output_ratio says."
      "\n\n>>> pyburn.nn.FractionalMaxPool2d(2, output_size=3)(pyburn.ones(1, 1, 8, 8)).shape");
  bind_layer<nn::FractionalMaxPool3d>(m,
      "The largest element of each of output_size windows at random places of volumes; or as many as output_ratio says."
      "\n\n>>> pyburn.nn.FractionalMaxPool3d(2, output_ratio=0.5)(pyburn.ones(1, 1, 8, 8, 8)).shape");
  bind_unpool<nn::MaxUnpool1d>(m,
      "The inverse of MaxPool1d: the elements where indices say, 0 elsewhere."
      "\n\n>>> y, at = pyburn.nn.MaxPool1d(2, return_indices=True)(pyburn.ones(1, 1, 8))"
      "\n>>> pyburn.nn.MaxUnpool1d(2)(y, at).shape");
  bind_unpool<nn::MaxUnpool2d>(m,
      "The inverse of MaxPool2d: the elements where indices say, 0 elsewhere."
      "\n\n>>> y, at = pyburn.nn.MaxPool2d(2, return_indices=True)(pyburn.ones(1, 1, 8, 8))"
      "\n>>> pyburn.nn.MaxUnpool2d(2)(y, at).shape");
  bind_unpool<nn::MaxUnpool3d>(m,
      "The inverse of MaxPool3d: the elements where indices say, 0 elsewhere."
      "\n\n>>> y, at = pyburn.nn.MaxPool3d(2, return_indices=True)(pyburn.ones(1, 1, 8, 8, 8))"
      "\n>>> pyburn.nn.MaxUnpool3d(2)(y, at).shape");
}

}  // namespace pyburn::python
