// Layers that put a border around a tensor.
#include "layer_class.h"
#include "pyburn/nn/padding.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_layers_padding(nb::module_& m) {
  bind_layer<nn::ConstantPad1d>(m,
      "Pads input (N, C, L) or (C, L) with a constant value.\n\n>>> pyburn.nn.ConstantPad1d(1, 2.5)(pyburn.ones(1, 1, "
      "5)).shape\npyburn.Size([1, 1, 7])");
  bind_layer<nn::ConstantPad2d>(m,
      "Pads input (N, C, H, W) or (C, H, W) with a constant value.\n\n>>> pyburn.nn.ConstantPad2d(1, 2.5)(pyburn.ones(1, 1, 5, "
      "5)).shape\npyburn.Size([1, 1, 7, 7])");
  bind_layer<nn::ConstantPad3d>(m,
      "Pads input (N, C, D, H, W) or (C, D, H, W) with a constant value.\n\n>>> pyburn.nn.ConstantPad3d(1, 2.5)(pyburn.ones(1, 1, 5, 5, "
      "5)).shape\npyburn.Size([1, 1, 7, 7, 7])");
  bind_layer<nn::ZeroPad1d>(
      m, "Pads input (N, C, L) or (C, L) with zeros.\n\n>>> pyburn.nn.ZeroPad1d(1)(pyburn.ones(1, 1, 5)).shape\npyburn.Size([1, 1, 7])")
      .def_prop_ro("value", [](const nn::ZeroPad1d&) { return 0.0; });
  bind_layer<nn::ZeroPad2d>(m,
      "Pads input (N, C, H, W) or (C, H, W) with zeros.\n\n>>> pyburn.nn.ZeroPad2d(1)(pyburn.ones(1, 1, 5, 5)).shape\npyburn.Size([1, 1, "
      "7, 7])")
      .def_prop_ro("value", [](const nn::ZeroPad2d&) { return 0.0; });
  bind_layer<nn::ZeroPad3d>(m,
      "Pads input (N, C, D, H, W) or (C, D, H, W) with zeros.\n\n>>> pyburn.nn.ZeroPad3d(1)(pyburn.ones(1, 1, 5, 5, "
      "5)).shape\npyburn.Size([1, 1, 7, 7, 7])")
      .def_prop_ro("value", [](const nn::ZeroPad3d&) { return 0.0; });
  bind_layer<nn::ReflectionPad1d>(m,
      "Pads input (N, C, L) or (C, L) by reflection at the boundary.\n\n>>> pyburn.nn.ReflectionPad1d(1)(pyburn.ones(1, 1, "
      "5)).shape\npyburn.Size([1, 1, 7])");
  bind_layer<nn::ReflectionPad2d>(m,
      "Pads input (N, C, H, W) or (C, H, W) by reflection at the boundary.\n\n>>> pyburn.nn.ReflectionPad2d(1)(pyburn.ones(1, 1, 5, "
      "5)).shape\npyburn.Size([1, 1, 7, 7])");
  bind_layer<nn::ReflectionPad3d>(m,
      "Pads input (N, C, D, H, W) or (C, D, H, W) by reflection at the boundary.\n\n>>> pyburn.nn.ReflectionPad3d(1)(pyburn.ones(1, 1, 5, "
      "5, 5)).shape\npyburn.Size([1, 1, 7, 7, 7])");
  bind_layer<nn::ReplicationPad1d>(m,
      "Pads input (N, C, L) or (C, L) by replication of the boundary.\n\n>>> pyburn.nn.ReplicationPad1d(1)(pyburn.ones(1, 1, "
      "5)).shape\npyburn.Size([1, 1, 7])");
  bind_layer<nn::ReplicationPad2d>(m,
      "Pads input (N, C, H, W) or (C, H, W) by replication of the boundary.\n\n>>> pyburn.nn.ReplicationPad2d(1)(pyburn.ones(1, 1, 5, "
      "5)).shape\npyburn.Size([1, 1, 7, 7])");
  bind_layer<nn::ReplicationPad3d>(m,
      "Pads input (N, C, D, H, W) or (C, D, H, W) by replication of the boundary.\n\n>>> pyburn.nn.ReplicationPad3d(1)(pyburn.ones(1, 1, "
      "5, 5, 5)).shape\npyburn.Size([1, 1, 7, 7, 7])");
  bind_layer<nn::CircularPad1d>(m,
      "Pads input (N, C, L) or (C, L) circularly, with elements from the opposite side.\n\n>>> pyburn.nn.CircularPad1d(1)(pyburn.ones(1, "
      "1, 5)).shape\npyburn.Size([1, 1, 7])");
  bind_layer<nn::CircularPad2d>(m,
      "Pads input (N, C, H, W) or (C, H, W) circularly, with elements from the opposite side.\n\n>>> "
      "pyburn.nn.CircularPad2d(1)(pyburn.ones(1, 1, 5, 5)).shape\npyburn.Size([1, 1, 7, 7])");
  bind_layer<nn::CircularPad3d>(m,
      "Pads input (N, C, D, H, W) or (C, D, H, W) circularly, with elements from the opposite side.\n\n>>> "
      "pyburn.nn.CircularPad3d(1)(pyburn.ones(1, 1, 5, 5, 5)).shape\npyburn.Size([1, 1, 7, 7, 7])");
}

}  // namespace pyburn::python
