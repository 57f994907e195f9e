// Transposed convolutions as classes of pyburn.nn.
#include "layer_class.h"
#include "pyburn/nn/conv_transpose.h"
#include "pyburn/nn/deform_conv.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

template <int N>
void bind_transposed(nb::module_& m, const char* doc) {
  using L = nn::ConvTranspose<N>;
  bind_layer<L>(m, doc).def(
      "forward",
      [](L& self, const TensorHandle& input, nb::handle output_size) {
        return output_size.is_none() ? self.L::forward(input) : self.L::forward(input, to_dims(output_size.ptr()));
      },
      "input"_a, "output_size"_a.none());
}

}  // namespace

void bind_layers_conv(nb::module_& m) {
  bind_transposed<1>(m,
      "Applies a 1-d transposed convolution. Input (N, C_in, L) or (C_in, L), output with C_out channels.\n\n>>> "
      "pyburn.nn.ConvTranspose1d(3, 8, 2, stride=2)(pyburn.ones(1, 3, 5)).shape\npyburn.Size([1, 8, 10])");
  bind_transposed<2>(m,
      "Applies a 2-d transposed convolution. Input (N, C_in, H, W) or (C_in, H, W), output with C_out channels.\n\n>>> "
      "pyburn.nn.ConvTranspose2d(3, 8, 2, stride=2)(pyburn.ones(1, 3, 4, 5)).shape\npyburn.Size([1, 8, 8, 10])");
  bind_transposed<3>(m,
      "Applies a 3-d transposed convolution. Input (N, C_in, D, H, W) or (C_in, D, H, W), output with C_out channels.\n\n>>> "
      "pyburn.nn.ConvTranspose3d(3, 8, 2, stride=2)(pyburn.ones(1, 3, 2, 4, 5)).shape\npyburn.Size([1, 8, 4, 8, 10])");
  bind_layer<nn::DeformConv2d>(m,
      "Applies a 2-d deformable convolution; the offsets of the kernel's elements are (N, 2 * offset_groups * KH * KW, H, W).\n\n>>> "
      "pyburn.nn.DeformConv2d(3, 8, 2)(pyburn.ones(1, 3, 4, 4), pyburn.zeros(1, 8, 3, 3)).shape\npyburn.Size([1, 8, 3, 3])")
      .def(
          "forward",
          [](nn::DeformConv2d& self, const TensorHandle& input, const TensorHandle& offset, const TensorHandle& mask) {
            const ComputesWith released(input.numel() >= 1 << 10, self, input);
            return self.nn::DeformConv2d::forward(input, offset, mask);
          },
          "input"_a, "offset"_a, "mask"_a.none() = nb::none());
  m.def(
      "_deform_conv2d",
      [](const TensorHandle& input, const TensorHandle& offset, const TensorHandle& weight, const TensorHandle& bias, nb::handle stride,
          nb::handle padding, nb::handle dilation, const TensorHandle& mask) {
        const Dims steps = to_dims(stride.ptr()), around = to_dims(padding.ptr()), apart = to_dims(dilation.ptr());
        const GilRelease released(input.numel() >= 1 << 10);
        return nn::deform_conv2d(input, offset, weight, bias, steps, around, apart, mask);
      },
      "input"_a, "offset"_a, "weight"_a, "bias"_a.none(), "stride"_a, "padding"_a, "dilation"_a, "mask"_a.none());
}

}  // namespace pyburn::python
