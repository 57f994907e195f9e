// Softmax and related layers. Without dim they use dimension 0 of tensors with 0, 1 or 3 dimensions, else 1, as PyTorch does.
#pragma once
#include "pyburn/nn/activation.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

struct AxisOption {
  std::optional<Scalar> dim;
  PB_FIELDS(dim)
  static constexpr LayerText text{.always = 1};
  void complete() const {
    require<DTypeError>(!dim || dim->kind() == Scalar::Kind::integer, "dim must be an int or None: got {}", dim ? dim->to_double() : 0);
  }
  int64_t axis_of(const TensorHandle& x) const { return dim ? dim->to_int() : x.rank() == 0 || x.rank() == 1 || x.rank() == 3 ? 0 : 1; }
};

struct SoftmaxFunction : AxisOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct LogSoftmaxFunction : AxisOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct SoftminFunction : AxisOption {
  TensorHandle operator()(const TensorHandle& x) const;
};
struct Softmax2dFunction : NoOptions {  // over the channels of images
  TensorHandle operator()(const TensorHandle& x) const;
};

using Softmax = FunctionLayer<"Softmax", SoftmaxFunction>;
using LogSoftmax = FunctionLayer<"LogSoftmax", LogSoftmaxFunction>;
using Softmin = FunctionLayer<"Softmin", SoftminFunction>;
using Softmax2d = FunctionLayer<"Softmax2d", Softmax2dFunction>;

}  // namespace pyburn::nn
