// Layers that change the shape of a tensor, or nothing.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

class Identity : public Module {
 public:
  TensorHandle forward(const TensorHandle& x) override { return x; }
  std::string type_name() const override { return "Identity"; }
};

struct FlattenFunction {
  int64_t start_dim = 1, end_dim = -1;
  PB_FIELDS(start_dim, end_dim)
  static constexpr LayerText text{.always = 2};
  TensorHandle operator()(const TensorHandle& x) const;
};
using Flatten = FunctionLayer<"Flatten", FlattenFunction>;

}  // namespace pyburn::nn
