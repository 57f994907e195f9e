#include "pyburn/nn/fractional_pool.h"

#include "pyburn/nn/conv.h"
#include "pyburn/ops/generated/fractional_pool.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

template <int N>
FractionalMaxPoolConfig<N> checked(FractionalMaxPoolConfig<N> c) {
  require<ValueError>(!c.output_size.empty() || !c.output_ratio.empty(),
      "FractionalMaxPool{}d requires specifying either an output size, or a pooling ratio", N);
  require<ValueError>(c.output_size.empty() || c.output_ratio.empty(), "only one of output_size and output_ratio may be specified");
  c.kernel_size = per_axis(c.kernel_size, N, "kernel_size");
  for (int64_t extent : c.kernel_size) require<ValueError>(extent > 0, "kernel_size must be greater than 0: got {}", c.kernel_size);
  if (!c.output_size.empty()) c.output_size = per_axis(c.output_size, N, "output_size");
  if (c.output_ratio.size() == 1) c.output_ratio = Numbers(N, c.output_ratio[0]);
  for (double ratio : c.output_ratio) require<ValueError>(ratio > 0 && ratio < 1, "output_ratio must be between 0 and 1 (got {})", ratio);
  return c;
}

}  // namespace

template <int N>
FractionalMaxPool<N>::FractionalMaxPool(FractionalMaxPoolConfig<N> config) : FractionalMaxPool(checked(std::move(config)), Unfilled{}) {}

template <int N>
FractionalMaxPool<N>::FractionalMaxPool(FractionalMaxPoolConfig<N> config, Unfilled)
    : Layer<FractionalMaxPoolConfig<N>>(std::move(config)) {
  this->register_buffer("_random_samples", std::exchange(this->config_._random_samples, {}));
}

template <int N>
Handles<2> FractionalMaxPool<N>::with_indices(const TensorHandle& x) {
  const FractionalMaxPoolConfig<N>& c = this->config_;
  return (N == 2 ? fn::fractional_max_pool2d_with_indices : fn::fractional_max_pool3d_with_indices)(x, c.kernel_size,
      c.output_size.empty() ? OptionalDims() : OptionalDims(c.output_size),
      c.output_ratio.empty() ? OptionalNumbers() : OptionalNumbers(c.output_ratio), this->tensor("_random_samples"));
}

template class FractionalMaxPool<2>;
template class FractionalMaxPool<3>;

}  // namespace pyburn::nn
