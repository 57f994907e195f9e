// Layers that put a border around a tensor.
#include "layer_class.h"
#include "pyburn/nn/padding.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers_padding(nb::module_& m) {
  bind_layer<nn::ConstantPad1d>(m,
      "A border of a value around sequences (N, C, L)."
      "\n\n>>> pyburn.nn.ConstantPad1d(1, 2.5)(pyburn.ones(1, 1, 5)).shape");
  bind_layer<nn::ConstantPad2d>(m,
      "A border of a value around images (N, C, H, W)."
      "\n\n>>> pyburn.nn.ConstantPad2d(1, 2.5)(pyburn.ones(1, 1, 5, 5)).shape");
  bind_layer<nn::ConstantPad3d>(m,
      "A border of a value around volumes (N, C, D, H, W)."
      "\n\n>>> pyburn.nn.ConstantPad3d(1, 2.5)(pyburn.ones(1, 1, 5, 5, 5)).shape");
  bind_layer<nn::ZeroPad1d>(m,
      "A border of zeros around sequences (N, C, L)."
      "\n\n>>> pyburn.nn.ZeroPad1d(1)(pyburn.ones(1, 1, 5)).shape")
      .def_prop_ro("value", [](const nn::ZeroPad1d&) { return 0.0; });
  bind_layer<nn::ZeroPad2d>(m,
      "A border of zeros around images (N, C, H, W)."
      "\n\n>>> pyburn.nn.ZeroPad2d(1)(pyburn.ones(1, 1, 5, 5)).shape")
      .def_prop_ro("value", [](const nn::ZeroPad2d&) { return 0.0; });
  bind_layer<nn::ZeroPad3d>(m,
      "A border of zeros around volumes (N, C, D, H, W)."
      "\n\n>>> pyburn.nn.ZeroPad3d(1)(pyburn.ones(1, 1, 5, 5, 5)).shape")
      .def_prop_ro("value", [](const nn::ZeroPad3d&) { return 0.0; });
  bind_layer<nn::ReflectionPad1d>(m,
      "A border of mirrored elements around sequences (N, C, L)."
      "\n\n>>> pyburn.nn.ReflectionPad1d(1)(pyburn.ones(1, 1, 5)).shape");
  bind_layer<nn::ReflectionPad2d>(m,
      "A border of mirrored elements around images (N, C, H, W)."
      "\n\n>>> pyburn.nn.ReflectionPad2d(1)(pyburn.ones(1, 1, 5, 5)).shape");
  bind_layer<nn::ReflectionPad3d>(m,
      "A border of mirrored elements around volumes (N, C, D, H, W)."
      "\n\n>>> pyburn.nn.ReflectionPad3d(1)(pyburn.ones(1, 1, 5, 5, 5)).shape");
  bind_layer<nn::ReplicationPad1d>(m,
      "A border that repeats the outermost elements of sequences (N, C, L)."
      "\n\n>>> pyburn.nn.ReplicationPad1d(1)(pyburn.ones(1, 1, 5)).shape");
  bind_layer<nn::ReplicationPad2d>(m,
      "A border that repeats the outermost elements of images (N, C, H, W)."
      "\n\n>>> pyburn.nn.ReplicationPad2d(1)(pyburn.ones(1, 1, 5, 5)).shape");
  bind_layer<nn::ReplicationPad3d>(m,
      "A border that repeats the outermost elements of volumes (N, C, D, H, W)."
      "\n\n>>> pyburn.nn.ReplicationPad3d(1)(pyburn.ones(1, 1, 5, 5, 5)).shape");
  bind_layer<nn::CircularPad1d>(m,
      "A border of the elements of the other end, around sequences (N, C, L)."
      "\n\n>>> pyburn.nn.CircularPad1d(1)(pyburn.ones(1, 1, 5)).shape");
  bind_layer<nn::CircularPad2d>(m,
      "A border of the elements of the other end, around images (N, C, H, W)."
      "\n\n>>> pyburn.nn.CircularPad2d(1)(pyburn.ones(1, 1, 5, 5)).shape");
  bind_layer<nn::CircularPad3d>(m,
      "A border of the elements of the other end, around volumes (N, C, D, H, W)."
      "\n\n>>> pyburn.nn.CircularPad3d(1)(pyburn.ones(1, 1, 5, 5, 5)).shape");
}

}  // namespace pyburn::python
