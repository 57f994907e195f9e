// Lazy layers, which infer the size of their input from the first call: LazyLinear, LazyConv2d, LazyBatchNorm1d, ...
//
//   const auto head = make_ref<nn::LazyLinear>(10);
//   const Tensor scores = (*head)(features);  // from now on it is Linear(in_features=..., out_features=10)
//
// Until then their parameters are registered, so that optimisers can take them, but have no shape. Loading sets the shape, too.
#pragma once
#include "pyburn/nn/batch_norm.h"
#include "pyburn/nn/conv_transpose.h"
#include "pyburn/nn/linear.h"

namespace pyburn::nn {

template <class L>
class Lazy final : public L {
 public:
  using Config = typename L::Config;
  // in_features, in_channels or num_features of the options are ignored. Default options are PyTorch's, where lazy InstanceNorm has
  // parameters.
  explicit Lazy(Config config = defaults(), Placement placement = {});
  explicit Lazy(int64_t out_features, bool bias = true, Placement placement = {}) requires std::is_same_v<L, Linear>
      : Lazy(LinearConfig{1, out_features, bias}, placement) {}

  bool has_uninitialized_params() const { return !waiting_.empty(); }
  TensorHandle forward(const TensorHandle& x) override {
    if (!is_complete_) complete(x);
    return L::forward(x);
  }
  template <class... More>
  requires(sizeof...(More) > 0) TensorHandle forward(const TensorHandle& x, const More&... more) {
    if (!is_complete_) complete(x);
    return L::forward(x, more...);
  }
  std::string type_name() const override { return is_complete_ ? L::type_name() : "Lazy" + L::type_name(); }
  PB_COPYABLE(Lazy)
  bool is_shapeless(std::string_view name) const override;
  void give_shape(std::string_view name, const Shape& shape) override;

 private:
  static Config defaults();
  void complete(const TensorHandle& x);  // ShapeError or ValueError if the options do not match the input

  std::vector<std::string> waiting_;  // names of tensors without a shape
  bool is_complete_ = false;
};

using LazyLinear = Lazy<Linear>;
using LazyConv1d = Lazy<Conv1d>;
using LazyConv2d = Lazy<Conv2d>;
using LazyConv3d = Lazy<Conv3d>;
using LazyConvTranspose1d = Lazy<ConvTranspose1d>;
using LazyConvTranspose2d = Lazy<ConvTranspose2d>;
using LazyConvTranspose3d = Lazy<ConvTranspose3d>;
using LazyBatchNorm1d = Lazy<BatchNorm1d>;
using LazyBatchNorm2d = Lazy<BatchNorm2d>;
using LazyBatchNorm3d = Lazy<BatchNorm3d>;
using LazyInstanceNorm1d = Lazy<InstanceNorm1d>;
using LazyInstanceNorm2d = Lazy<InstanceNorm2d>;
using LazyInstanceNorm3d = Lazy<InstanceNorm3d>;

}  // namespace pyburn::nn
