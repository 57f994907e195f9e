// Clipping of each parameter's gradient in an optimiser step. The gradients themselves are not changed.
#pragma once
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

class GradientClipping {
 public:
  enum class Kind : uint8_t { none, value, norm };

  GradientClipping() = default;                                          // no clipping
  static GradientClipping by_value(double limit);                        // clamps elements to [-limit, limit]; ValueError unless positive
  static GradientClipping by_norm(double limit);                         // scales tensors whose Euclidean norm exceeds limit
  static GradientClipping named(const std::string& kind, double limit);  // "value" or "norm"

  Kind kind() const { return kind_; }
  double limit() const { return limit_; }
  TensorHandle operator()(const TensorHandle& gradient) const;

 private:
  GradientClipping(Kind kind, double limit);
  Kind kind_ = Kind::none;
  double limit_ = 0;
};

}  // namespace pyburn::optim
