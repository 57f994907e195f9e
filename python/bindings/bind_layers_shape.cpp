// Layers that change shapes and sizes, or compare two tensors.
#include "layer_class.h"
#include "pyburn/nn/distance.h"
#include "pyburn/nn/shape.h"
#include "pyburn/nn/upsample.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {

void bind_layers_shape(nb::module_& m) {
  bind_layer<nn::Flatten>(m,
      "Flattens the dimensions start_dim to end_dim into one.\n\n>>> pyburn.nn.Flatten()(pyburn.ones(2, 3, 4)).shape\npyburn.Size([2, "
      "12])");
  bind_layer<nn::Unflatten>(m,
      "Splits the dimension dim into several dimensions of the given sizes.\n\n>>> pyburn.nn.Unflatten(1, (2, 3))(pyburn.ones(4, "
      "6)).shape\npyburn.Size([4, 2, 3])");
  bind_layer<nn::Unfold>(m,
      "Extracts sliding patches of input (N, C, H, W) as columns (N, C * KH * KW, L).\n\n>>> pyburn.nn.Unfold(2)(pyburn.ones(1, 3, 4, "
      "4)).shape\npyburn.Size([1, 12, 9])");
  bind_layer<nn::Fold>(m,
      "Adds up columns of patches (N, C * KH * KW, L) into images (N, C, H, W); the inverse of Unfold except for overlaps.\n\n>>> "
      "pyburn.nn.Fold((4, 4), 2)(pyburn.ones(1, 12, 9)).shape\npyburn.Size([1, 3, 4, 4])");
  bind_layer<nn::PixelShuffle>(m,
      "Rearranges (*, C * r^2, H, W) to (*, C, H * r, W * r) for an upscale factor r.\n\n>>> pyburn.nn.PixelShuffle(2)(pyburn.ones(1, 4, "
      "3, 3)).shape\npyburn.Size([1, 1, 6, 6])");
  bind_layer<nn::PixelUnshuffle>(m,
      "Rearranges (*, C, H * r, W * r) to (*, C * r^2, H, W) for a downscale factor r.\n\n>>> pyburn.nn.PixelUnshuffle(2)(pyburn.ones(1, "
      "1, 6, 6)).shape\npyburn.Size([1, 4, 3, 3])");
  bind_layer<nn::ChannelShuffle>(m,
      "Splits the channels of input (N, C, ...) into groups and interleaves them.\n\n>>> pyburn.nn.ChannelShuffle(2)(pyburn.ones(1, 4, "
      "3)).shape\npyburn.Size([1, 4, 3])");
  bind_layer<nn::Upsample>(m,
      "Resizes input (N, C, ...) to the given size or by the given scale factor.\n\n>>> pyburn.nn.Upsample(scale_factor=2)(pyburn.ones(1, "
      "1, 2, 2)).shape\npyburn.Size([1, 1, 4, 4])");
  bind_layer<nn::UpsamplingNearest2d>(m,
      "Resizes images (N, C, H, W) with nearest-neighbour interpolation.\n\n>>> "
      "pyburn.nn.UpsamplingNearest2d(scale_factor=2)(pyburn.ones(1, 1, 2, 2)).shape\npyburn.Size([1, 1, 4, 4])");
  bind_layer<nn::UpsamplingBilinear2d>(m,
      "Resizes images (N, C, H, W) with bilinear interpolation and aligned corners.\n\n>>> "
      "pyburn.nn.UpsamplingBilinear2d(size=3)(pyburn.ones(1, 1, 2, 2)).shape\npyburn.Size([1, 1, 3, 3])");
  bind_layer_of<nn::CosineSimilarity>(m,
      "Computes the cosine similarity of two tensors along dim.\n\n>>> pyburn.nn.CosineSimilarity()(pyburn.ones(2, 3), pyburn.ones(2, "
      "3))\ntensor([1.0000, 1.0000])",
      nullptr, "x1"_a, "x2"_a);
  bind_layer_of<nn::PairwiseDistance>(m,
      "Computes the p-norm of x1 - x2 + eps over the last dimension.\n\n>>> pyburn.nn.PairwiseDistance()(pyburn.ones(2, 3), "
      "pyburn.zeros(2, 3))\ntensor([1.7321, 1.7321])",
      nullptr, "x1"_a, "x2"_a);
  auto identity = bind_module_class<nn::Identity>(m, "pyburn.nn.Identity",
      "Returns its input unchanged; accepts and ignores any arguments.\n\n>>> pyburn.nn.Identity()(pyburn.ones(2))\ntensor([1., 1.])");
  identity.def_init(+[](nb::args, nb::kwargs) { return make_ref<nn::Identity>(); });
  identity.def(
      "forward", [](nn::Identity&, nb::object input) { return input; }, "input"_a.none());  // tensors, tuples, None
}

}  // namespace pyburn::python
