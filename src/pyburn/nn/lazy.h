// Layers that learn the number of their input's features or channels from the first call: LazyLinear, LazyConv2d, LazyBatchNorm1d, ...
//
//   const auto head = make_ref<nn::LazyLinear>(10);
//   const Tensor scores = (*head)(features);  // from now on it is Linear(in_features=..., out_features=10)
//
// Until then their parameters are listed, so that optimisers may take them, but have no shape. Loading gives them one, too.
#pragma once
#include "pyburn/nn/batch_norm.h"
#include "pyburn/nn/conv_transpose.h"
#include "pyburn/nn/linear.h"

namespace pyburn::nn {

template <class L>
class Lazy final : public L {
 public:
  using Config = typename L::Config;
  // in_features, in_channels or num_features of the options do not matter. Without options: PyTorch's, which has an InstanceNorm
  // with parameters here.
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
  void complete(const TensorHandle& x);  // ShapeError, ValueError where the options and this input do not fit

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
