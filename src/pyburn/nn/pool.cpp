#include "pyburn/nn/pool.h"

#include "pyburn/nn/conv.h"
#include "pyburn/ops/generated/pool_functions.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

// The function of N axes.
template <int N, class F>
constexpr F of_axes(F one, F two, F three) {
  return N == 1 ? one : N == 2 ? two : three;
}

OptionalDims strides(const Dims& stride) { return stride.empty() ? OptionalDims() : OptionalDims(stride); }

template <int N>
Dims resolved(const Sizes& output_size, const TensorHandle& x) {
  Dims sizes = per_axis(output_size.empty() ? Dims{Sizes::left_open} : Dims(output_size), N, "output_size");
  require<ShapeError>(x.rank() >= N, "expected at least {} dimensions: got {}", N, x.shape());
  for (int i = 0; i < N; ++i)
    if (sizes[i] == Sizes::left_open) sizes[i] = x.shape()[x.rank() - N + i];
  return sizes;
}

template <int N>
void complete_windows(Dims& kernel_size, Dims& stride, Dims& padding) {
  kernel_size = per_axis(kernel_size, N, "kernel_size");
  stride = stride.empty() ? kernel_size : per_axis(stride, N, "stride");
  padding = per_axis(padding, N, "padding");
}

}  // namespace

template <int N>
TensorHandle MaxPoolFunction<N>::operator()(const TensorHandle& x) const {
  return of_axes<N>(fn::max_pool1d, fn::max_pool2d, fn::max_pool3d)(x, kernel_size, strides(stride), padding, dilation, ceil_mode);
}
template <int N>
Handles<2> MaxPoolFunction<N>::with_indices(const TensorHandle& x) const {
  return of_axes<N>(fn::max_pool1d_with_indices, fn::max_pool2d_with_indices, fn::max_pool3d_with_indices)(
      x, kernel_size, strides(stride), padding, dilation, ceil_mode);
}

void AvgPool1dFunction::complete() { complete_windows<1>(kernel_size, stride, padding); }
TensorHandle AvgPool1dFunction::operator()(const TensorHandle& x) const {
  return fn::avg_pool1d(x, kernel_size, strides(stride), padding, ceil_mode, count_include_pad);
}
template <int N>
TensorHandle AvgPoolFunction<N>::operator()(const TensorHandle& x) const {
  const std::optional<int64_t> divisor = divisor_override ? std::optional(divisor_override->to_int()) : std::nullopt;
  return (N == 2 ? fn::avg_pool2d : fn::avg_pool3d)(x, kernel_size, strides(stride), padding, ceil_mode, count_include_pad, divisor);
}

template <int N>
void LPPoolFunction<N>::complete() const {
  require<ValueError>(norm_type.to_double() != 0, "norm_type must be a non-zero value: got {}", norm_type);
}
template <int N>
TensorHandle LPPoolFunction<N>::operator()(const TensorHandle& x) const {
  return of_axes<N>(fn::lp_pool1d, fn::lp_pool2d, fn::lp_pool3d)(x, norm_type.to_double(), kernel_size, strides(stride), ceil_mode);
}

template <int N>
TensorHandle AdaptiveAvgPoolFunction<N>::operator()(const TensorHandle& x) const {
  return of_axes<N>(fn::adaptive_avg_pool1d, fn::adaptive_avg_pool2d, fn::adaptive_avg_pool3d)(x, resolved<N>(output_size, x));
}
template <int N>
Handles<2> AdaptiveMaxPoolFunction<N>::with_indices(const TensorHandle& x) const {
  return of_axes<N>(fn::adaptive_max_pool1d, fn::adaptive_max_pool2d, fn::adaptive_max_pool3d)(x, resolved<N>(output_size, x));
}

template <int N>
void MaxUnpoolFunction<N>::complete() {
  complete_windows<N>(kernel_size, stride, padding);
}
template <int N>
TensorHandle MaxUnpoolFunction<N>::operator()(const TensorHandle& x, const TensorHandle& indices, const OptionalDims& output_size) const {
  return of_axes<N>(fn::max_unpool1d, fn::max_unpool2d, fn::max_unpool3d)(x, indices, kernel_size, strides(stride), padding, output_size);
}

template struct MaxPoolFunction<1>;
template struct MaxPoolFunction<2>;
template struct MaxPoolFunction<3>;
template struct AvgPoolFunction<2>;
template struct AvgPoolFunction<3>;
template struct LPPoolFunction<1>;
template struct LPPoolFunction<2>;
template struct LPPoolFunction<3>;
template struct AdaptiveAvgPoolFunction<1>;
template struct AdaptiveAvgPoolFunction<2>;
template struct AdaptiveAvgPoolFunction<3>;
template struct AdaptiveMaxPoolFunction<1>;
template struct AdaptiveMaxPoolFunction<2>;
template struct AdaptiveMaxPoolFunction<3>;
template struct MaxUnpoolFunction<1>;
template struct MaxUnpoolFunction<2>;
template struct MaxUnpoolFunction<3>;

}  // namespace pyburn::nn
