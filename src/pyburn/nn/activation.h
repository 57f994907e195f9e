// Activations: elementwise functions as layers.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct ReLUFunction {
  bool inplace = false;
  PB_FIELDS(inplace)
  static constexpr LayerText text{};
  TensorHandle operator()(const TensorHandle& x) const;
};
using ReLU = FunctionLayer<"ReLU", ReLUFunction>;

}  // namespace pyburn::nn
