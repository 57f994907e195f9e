// Layers without parameters: ReLU, Identity, Flatten.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct ReLUConfig {
  bool inplace = false;
  PB_FIELDS(inplace)
  static constexpr ConfigText text{};
};
class ReLU : public Layer<ReLUConfig> {
 public:
  explicit ReLU(ReLUConfig config = {}) : Layer(config) {}
  ReLU(ReLUConfig config, Unfilled) : Layer(config) {}
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "ReLU"; }
};

class Identity : public Module {
 public:
  TensorHandle forward(const TensorHandle& x) override { return x; }
  std::string type_name() const override { return "Identity"; }
};

struct FlattenConfig {
  int64_t start_dim = 1, end_dim = -1;
  PB_FIELDS(start_dim, end_dim)
  static constexpr ConfigText text{.always = 2};
};
class Flatten : public Layer<FlattenConfig> {
 public:
  explicit Flatten(FlattenConfig config = {}) : Layer(config) {}
  Flatten(FlattenConfig config, Unfilled) : Layer(config) {}
  TensorHandle forward(const TensorHandle& x) override;
  std::string type_name() const override { return "Flatten"; }
};

}  // namespace pyburn::nn
