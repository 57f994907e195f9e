#include "pyburn/nn/conv_transpose.h"

#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/conv_functions.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

template <int N>
ConvTransposeConfig<N> checked(ConvTransposeConfig<N> c) {
  require<ValueError>(c.groups > 0, "groups must be a positive integer");
  require<ValueError>(c.in_channels % c.groups == 0, "in_channels must be divisible by groups");
  require<ValueError>(c.out_channels % c.groups == 0, "out_channels must be divisible by groups");
  require<ValueError>(c.padding_mode == "zeros", "Only \"zeros\" padding mode is supported for ConvTranspose{}d", N);
  c.kernel_size = per_axis(c.kernel_size, N, "kernel_size");
  c.stride = per_axis(c.stride, N, "stride");
  c.padding = per_axis(c.padding, N, "padding");
  c.output_padding = per_axis(c.output_padding, N, "output_padding");
  c.dilation = per_axis(c.dilation, N, "dilation");
  return c;
}

// The options in the order in which convolutions print them.
template <int N>
struct Printed {
  int64_t in_channels = 1, out_channels = 1;
  Dims kernel_size = Dims(N, 1), stride = Dims(N, 1), padding = Dims(N, 0), dilation = Dims(N, 1), output_padding = Dims(N, 0);
  int64_t groups = 1;
  bool bias = true;
  PB_FIELDS(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias)
};

}  // namespace

template <int N>
ConvTranspose<N>::ConvTranspose(Config config, Placement p) : Layer<Config>(checked(std::move(config))) {
  const Config& c = this->config_;
  Dims size{c.in_channels, c.out_channels / c.groups};
  for (int64_t k : c.kernel_size) size.push_back(k);
  this->register_parameter("weight", Parameter(fn::empty(size, p.dtype, p.device)));
  this->register_parameter("bias", c.bias ? Parameter(fn::empty({c.out_channels}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

template <int N>
void ConvTranspose<N>::reset_parameters() {
  init::layer_default_(this->tensor("weight"), this->tensor("bias"));
}

template <int N>
std::string ConvTranspose<N>::extra_repr() const {
  const Config& c = this->config_;
  Printed<N> p{c.in_channels, c.out_channels, c.kernel_size, c.stride, c.padding, c.dilation, c.output_padding, c.groups, c.bias};
  return config_text({&attr_type<Printed<N>>, &p}, ConvConfig<N>::text);
}

template <int N>
Dims ConvTranspose<N>::output_padding_for(const TensorHandle& x, const Dims& output_size) const {
  const Config& c = this->config_;
  const int lead = x.rank() - N, given = int(output_size.size());
  require<ValueError>(given == N || given == x.rank(), "ConvTranspose{}D: for {}D input, output_size must have {} or {} elements (got {})",
      N, x.rank(), N, x.rank(), given);
  const Dims stride = per_axis(c.stride, N, "stride"), padding = per_axis(c.padding, N, "padding");
  const Dims kernel = per_axis(c.kernel_size, N, "kernel_size"), dilation = per_axis(c.dilation, N, "dilation");
  Dims rest, smallest, largest;
  bool fits = true;
  for (int i = 0; i < N; ++i) {
    const int64_t wanted = output_size[given - N + i];
    const Checked reach = Checked(dilation[i]) * (kernel[i] - 1) + 1, step = stride[i];
    smallest.push_back((x.shape()[lead + i] - 1) * step - 2 * Checked(padding[i]) + reach);
    largest.push_back(smallest[i] + step - 1);
    rest.push_back(wanted - Checked(smallest[i]));
    fits = fits && smallest[i] <= wanted && wanted <= largest[i];
  }
  require<ValueError>(fits, "requested an output size of {}, but valid sizes range from {} to {} (for an input of {})", output_size,
      smallest, largest, x.shape());
  return rest;
}

template <int N>
TensorHandle ConvTranspose<N>::convolve(const TensorHandle& x, const Dims& output_padding) const {
  const Config& c = this->config_;
  const TensorHandle &w = needed(*this, "weight"), &b = this->tensor("bias");
  if constexpr (N == 1) return fn::conv_transpose1d(x, w, b, c.stride, c.padding, output_padding, c.groups, c.dilation);
  else if constexpr (N == 2) return fn::conv_transpose2d(x, w, b, c.stride, c.padding, output_padding, c.groups, c.dilation);
  else return fn::conv_transpose3d(x, w, b, c.stride, c.padding, output_padding, c.groups, c.dilation);
}

template <int N>
TensorHandle ConvTranspose<N>::forward(const TensorHandle& x) {
  return convolve(x, this->config_.output_padding);
}
template <int N>
TensorHandle ConvTranspose<N>::forward(const TensorHandle& x, const Dims& output_size) {
  require(x.rank() == N + 1 || x.rank() == N + 2, "expected an input of {} or {} dimensions: got {}", N + 1, N + 2, x.shape());
  return convolve(x, output_padding_for(x, output_size));
}

template class ConvTranspose<1>;
template class ConvTranspose<2>;
template class ConvTranspose<3>;

}  // namespace pyburn::nn
