// Fractional max pooling (randomly placed windows): FractionalMaxPool2d and 3d.
#pragma once
#include "pyburn/nn/layer.h"
#include "pyburn/runtime/run.h"

namespace pyburn::nn {

template <int N>
struct FractionalMaxPoolConfig {
  Dims kernel_size{1}, output_size;  // either this
  Numbers output_ratio;              // or this, relative to the input size
  bool return_indices = false;
  TensorOption _random_samples;  // (N, C, dimensions) between 0 and 1: the window positions; drawn for each call by default
  PB_FIELDS(kernel_size, output_size, output_ratio, return_indices, _random_samples)
  static constexpr LayerText text{.required = 1, .printed = false};
};

template <int N>
class FractionalMaxPool : public Layer<FractionalMaxPoolConfig<N>> {
 public:
  explicit FractionalMaxPool(FractionalMaxPoolConfig<N> config);
  FractionalMaxPool(FractionalMaxPoolConfig<N> config, Unfilled);
  TensorHandle forward(const TensorHandle& x) override { return with_indices(x)[0]; }
  Handles<2> with_indices(const TensorHandle& x);
  std::string type_name() const override { return "FractionalMaxPool" + std::to_string(N) + "d"; }
  PB_COPYABLE(FractionalMaxPool)
};
using FractionalMaxPool2d = FractionalMaxPool<2>;
using FractionalMaxPool3d = FractionalMaxPool<3>;

}  // namespace pyburn::nn
