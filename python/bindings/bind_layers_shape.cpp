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
      "The axes from start_dim to end_dim as one."
      "\n\n>>> pyburn.nn.Flatten()(pyburn.ones(2, 3, 4)).shape");
  bind_layer<nn::Unflatten>(m,
      "The axis dim as several, of the given sizes."
      "\n\n>>> pyburn.nn.Unflatten(1, (2, 3))(pyburn.ones(4, 6)).shape");
  bind_layer<nn::Unfold>(m,
      "The patches that a kernel meets in images (N, C, H, W), as columns."
      "\n\n>>> pyburn.nn.Unfold(2)(pyburn.ones(1, 3, 4, 4)).shape");
  bind_layer<nn::Fold>(m,
      "Images from patches: overlapping elements are added."
      "\n\n>>> pyburn.nn.Fold((4, 4), 2)(pyburn.ones(1, 12, 9)).shape");
  bind_layer<nn::PixelShuffle>(m,
      "(..., C * r * r, H, W) as (..., C, H * r, W * r): channels become pixels."
      "\n\n>>> pyburn.nn.PixelShuffle(2)(pyburn.ones(1, 4, 3, 3)).shape");
  bind_layer<nn::PixelUnshuffle>(m,
      "(..., C, H * r, W * r) as (..., C * r * r, H, W): pixels become channels."
      "\n\n>>> pyburn.nn.PixelUnshuffle(2)(pyburn.ones(1, 1, 6, 6)).shape");
  bind_layer<nn::ChannelShuffle>(m,
      "(N, C, ...) with the channels of its groups interleaved."
      "\n\n>>> pyburn.nn.ChannelShuffle(2)(pyburn.ones(1, 4, 3)).shape");
  bind_layer<nn::Upsample>(m,
      "(N, C, ...) in another size: mode is nearest, linear, bilinear, bicubic or trilinear."
      "\n\n>>> pyburn.nn.Upsample(scale_factor=2)(pyburn.ones(1, 1, 2, 2)).shape");
  bind_layer<nn::UpsamplingNearest2d>(m,
      "Images in another size, by the nearest pixel."
      "\n\n>>> pyburn.nn.UpsamplingNearest2d(scale_factor=2)(pyburn.ones(1, 1, 2, 2)).shape");
  bind_layer<nn::UpsamplingBilinear2d>(m,
      "Images in another size, bilinear with aligned corners."
      "\n\n>>> pyburn.nn.UpsamplingBilinear2d(size=3)(pyburn.ones(1, 1, 2, 2)).shape");
  bind_layer_of<nn::CosineSimilarity>(m,
      "The cosine of the angle between vectors along dim."
      "\n\n>>> pyburn.nn.CosineSimilarity()(pyburn.ones(2, 3), pyburn.ones(2, 3))",
      nullptr, "x1"_a, "x2"_a);
  bind_layer_of<nn::PairwiseDistance>(m,
      "The norm of order p of x1 - x2 + eps along the last axis."
      "\n\n>>> pyburn.nn.PairwiseDistance()(pyburn.ones(2, 3), pyburn.zeros(2, 3))",
      nullptr, "x1"_a, "x2"_a);
  auto identity = bind_module_class<nn::Identity>(
      m, "pyburn.nn.Identity", "Gives its input back; takes any arguments.\n\n>>> pyburn.nn.Identity()(pyburn.ones(2))");
  identity.def_init(+[](nb::args, nb::kwargs) { return make_ref<nn::Identity>(); });
  identity.def(
      "forward", [](nn::Identity&, nb::object input) { return input; }, "input"_a.none());  // tensors, tuples, None
}

}  // namespace pyburn::python
