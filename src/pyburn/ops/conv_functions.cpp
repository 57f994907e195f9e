// What users call: convolutions and transposed convolutions of one to three dimensions, with or without a batch axis, in terms of
// the rows of conv.cpp; and the unfolding of an image into its patches.
#include "pyburn/ops/generated/conv_functions.h"

#include <algorithm>

#include "pyburn/ops/conv.h"
#include "pyburn/ops/generated/conv.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/rules.h"
#include "pyburn/ops/spatial.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constexpr const char* kSame = R"(
t(1, 2, 5, 6), t(3, 2, 3, 2), padding='same'
t(1, 2, 5, 6), t(3, 2, 3, 3), t(3), stride=2, padding='valid'
t(2, 5, 6), t(3, 2, 3, 4), t(3), 1, 'same', dilation=(1, 2)
t(1, 4, 5, 6), t(4, 2, 2, 2), groups=2, padding='same'
t(0, 2, 5, 6), t(3, 2, 3, 3), padding='same'
t(1, 5, 6, 2).permute(0, 3, 1, 2), t(3, 2, 3, 3), padding='same'
t(1, 1, 5, 6).expand(1, 2, 5, 6), t(3, 2, 3, 3), padding='same'
t(), t(3, 2, 3, 3), padding='same' ! batched
t(1, 2, 5, 6), t(3, 2, 3, 3), stride=2, padding='same' ! stride
t(1, 2, 5, 6), t(3, 2, 3, 3), padding='full' ! padding)";
constexpr const char* kSame1 = R"(
t(1, 2, 6), t(3, 2, 3), padding='same'
t(1, 2, 6), t(3, 2, 3), t(3), stride=2, padding='valid'
t(2, 6), t(3, 2, 4), t(3), 1, 'same', dilation=2
t(1, 4, 6), t(4, 2, 2), groups=2, padding='same'
t(0, 2, 6), t(3, 2, 3), padding='same'
t(1, 6, 2).transpose(1, 2), t(3, 2, 3), padding='same'
t(1, 1, 6).expand(1, 2, 6), t(3, 2, 3), padding='same'
t(), t(3, 2, 3), padding='same' ! batched
t(1, 2, 6), t(3, 2, 3), padding='full' ! padding)";
constexpr const char* kSame3 = R"(
t(1, 2, 3, 3, 3), t(2, 2, 2, 3, 1), padding='same'
t(1, 2, 3, 3, 3), t(2, 2, 2, 3, 1), t(2), stride=2, padding='valid'
t(2, 3, 3, 3), t(2, 2, 2, 2, 1), t(2), 1, 'same', dilation=(1, 2, 1)
t(1, 2, 3, 3, 3), t(2, 1, 2, 3, 1), groups=2, padding='same'
t(0, 2, 3, 3, 3), t(2, 2, 2, 3, 1), padding='same'
t(1, 3, 3, 3, 2).permute(0, 4, 1, 2, 3), t(2, 2, 2, 3, 1), padding='same'
t(1, 1, 3, 3, 3).expand(1, 2, 3, 3, 3), t(2, 2, 2, 3, 1), padding='same'
t(), t(2, 2, 2, 3, 1), padding='same' ! batched
t(1, 2, 3, 3, 3), t(2, 2, 2, 3, 1), padding='full' ! padding)";

constinit FunctionInfo functions[] = {
    {.schema = "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1) -> "
               "Tensor",
        .doc = "Applies a 1-d convolution to input (N, C, L) or (C, L) with weight (O, C / groups, K).",
        .torch = "torch.nn.functional.conv1d",
        .example = "pyburn.conv1d(pyburn.ones(1, 1, 5), pyburn.ones(2, 1, 3)).shape",
        .samples = R"(
t(2, 3, 6), t(4, 3, 3)
t(2, 3, 6), t(4, 3, 3), t(4), padding=1
t(3, 6), t(4, 3, 3), stride=2
t(1, 4, 7), t(6, 2, 3), t(6), stride=2, padding=1, dilation=2, groups=2
t(0, 3, 6), t(4, 3, 3)
t(2, 6, 3).transpose(1, 2), t(4, 3, 3)
t(1, 1, 6).expand(2, 3, 6), t(4, 3, 3)
t(1, 2, 6, dtype=f64), t(3, 2, 3, dtype=f64)
t(), t(4, 3, 3) ! batched
t(2, 3, 6), t(4, 2, 3) ! channels
t(2, 3, 2), t(4, 3, 3) ! larger than)"},
    {.schema = "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, int "
               "groups=1) -> Tensor",
        .doc = "Applies a 1-d convolution with padding 'same' (the output has the size of the input) or 'valid' (no padding).",
        .torch = "torch.nn.functional.conv1d",
        .example = "pyburn.conv1d(pyburn.ones(1, 1, 5), pyburn.ones(2, 1, 3), padding='same').shape",
        .samples = kSame1},
    {.schema =
            "conv2d.any(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1) "
            "-> Tensor",
        .doc = "Applies a 2-d convolution to input (N, C, H, W) or (C, H, W) with weight (O, C / groups, KH, KW).",
        .torch = "torch.nn.functional.conv2d",
        .example = "pyburn.conv2d(pyburn.ones(1, 1, 5, 5), pyburn.ones(2, 1, 3, 3)).shape",
        .samples = R"(
t(3, 6, 5), t(4, 3, 3, 3)
t(2, 3, 6, 5), t(4, 3, 3, 3), t(4), padding=1
t(4, 7, 7), t(6, 2, 3, 2), t(6), stride=2, padding=(1, 0), groups=2
t(2, 8, 8), t(3, 2, 3, 3), dilation=2
t(0, 3, 4, 4), t(8, 3, 1, 1)
t(6, 5, 3).permute(2, 0, 1), t(4, 3, 3, 3), padding=1
t(1, 6, 5).expand(3, 6, 5), t(4, 3, 3, 3)
t(), t(2, 2, 3, 3) ! batched
t(3, 4, 4), t(8, 4, 1, 1) ! channels)",
        .out = true},
    {.schema = "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, int "
               "groups=1) -> Tensor",
        .doc = "Applies a 2-d convolution with padding 'same' (the output has the size of the input) or 'valid' (no padding).",
        .torch = "torch.nn.functional.conv2d",
        .example = "pyburn.conv2d(pyburn.ones(1, 1, 5, 5), pyburn.ones(2, 1, 3, 3), padding='same').shape",
        .samples = kSame},
    {.schema =
            "conv3d.any(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1) "
            "-> Tensor",
        .doc = "Applies a 3-d convolution to input (N, C, D, H, W) or (C, D, H, W) with weight (O, C / groups, KD, KH, KW).",
        .torch = "torch.nn.functional.conv3d",
        .example = "pyburn.conv3d(pyburn.ones(1, 1, 5, 5, 5), pyburn.ones(2, 1, 3, 3, 3)).shape",
        .samples = R"(
t(2, 3, 4, 3), t(3, 2, 2, 2, 3)
t(1, 2, 3, 4, 3), t(3, 2, 3, 3, 3), t(3), padding=1
t(4, 5, 4, 5), t(4, 2, 3, 2, 1), t(4), stride=2, padding=(1, 0, 2), groups=2
t(1, 5, 6, 5), t(2, 1, 2, 3, 3), dilation=(2, 1, 2)
t(0, 2, 3, 4, 3), t(3, 2, 2, 2, 3)
t(3, 4, 3, 2).permute(3, 0, 1, 2), t(3, 2, 2, 2, 3)
t(1, 3, 4, 3).expand(2, 3, 4, 3), t(3, 2, 2, 2, 3)
t(), t(1, 1, 2, 2, 2) ! batched)",
        .out = true},
    {.schema = "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, int "
               "groups=1) -> Tensor",
        .doc = "Applies a 3-d convolution with padding 'same' (the output has the size of the input) or 'valid' (no padding).",
        .torch = "torch.nn.functional.conv3d",
        .example = "pyburn.conv3d(pyburn.ones(1, 1, 5, 5, 5), pyburn.ones(2, 1, 3, 3, 3), padding='same').shape",
        .samples = kSame3},
    {.schema = "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, "
               "int groups=1, int[] dilation=1) -> Tensor",
        .doc = "Applies a 1-d transposed convolution to input (N, C, L) or (C, L) with weight (C, O / groups, K).",
        .torch = "torch.nn.functional.conv_transpose1d",
        .example = "pyburn.conv_transpose1d(pyburn.ones(1, 2, 3), pyburn.ones(2, 1, 3), stride=2).shape",
        .samples = R"(
t(2, 3, 4), t(3, 2, 3)
t(2, 3, 4), t(3, 2, 3), t(2), stride=2, padding=1, output_padding=1
t(4, 4), t(4, 1, 3), t(2), groups=2, dilation=2
t(0, 3, 4), t(3, 2, 3)
t(2, 4, 3).transpose(1, 2), t(3, 2, 3)
t(1, 1, 4).expand(2, 3, 4), t(3, 2, 3)
t(), t(3, 2, 3) ! batched
t(2, 3, 4), t(3, 2, 3), output_padding=1 ! output_padding
t(2, 4, 4), t(3, 2, 3) ! channels)"},
    {.schema = "conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, "
               "int groups=1, int[] dilation=1) -> Tensor",
        .doc = "Applies a 2-d transposed convolution to input (N, C, H, W) or (C, H, W) with weight (C, O / groups, KH, KW).",
        .torch = "torch.nn.functional.conv_transpose2d",
        .example = "pyburn.conv_transpose2d(pyburn.ones(1, 2, 3, 3), pyburn.ones(2, 1, 3, 3), stride=2).shape",
        .samples = R"(
t(2, 3, 3, 4), t(3, 2, 2, 3)
t(1, 3, 3, 4), t(3, 2, 3, 3), t(2), stride=2, padding=1, output_padding=(1, 0)
t(4, 3, 4), t(4, 1, 2, 3), t(2), groups=2, dilation=2
t(1, 3, 3, 4), t(3, 2, 2, 3), t(2), dilation=3, output_padding=(2, 1)
t(1, 3, 3, 4), t(3, 2, 2, 3), t(2), dilation=3, padding=(1, 2), output_padding=(2, 1)
t(1, 2, 3, 4, dtype=i64), t(2, 3, 2, 3, dtype=i64), t(3, dtype=i64), stride=2, padding=1
t(0, 3, 3, 4), t(3, 2, 2, 3)
t(2, 3, 4, 3).permute(0, 3, 1, 2), t(3, 2, 2, 3)
t(1, 1, 3, 4).expand(2, 3, 3, 4), t(3, 2, 2, 3)
t(), t(3, 2, 2, 3) ! batched
t(1, 3, 3, 4), t(4, 2, 2, 3) ! channels)"},
    {.schema = "conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, "
               "int groups=1, int[] dilation=1) -> Tensor",
        .doc = "Applies a 3-d transposed convolution to input (N, C, D, H, W) or (C, D, H, W) with weight (C, O / groups, KD, KH, KW).",
        .torch = "torch.nn.functional.conv_transpose3d",
        .example = "pyburn.conv_transpose3d(pyburn.ones(1, 2, 2, 3, 3), pyburn.ones(2, 1, 3, 3, 3), stride=2).shape",
        .samples = R"(
t(1, 2, 2, 3, 2), t(2, 2, 2, 2, 3)
t(1, 2, 2, 3, 2), t(2, 2, 3, 3, 3), t(2), stride=2, padding=1, output_padding=(1, 0, 1)
t(2, 2, 3, 2), t(2, 1, 2, 2, 3), t(2), groups=2, dilation=2
t(0, 2, 2, 3, 2), t(2, 2, 2, 2, 3)
t(1, 2, 3, 2, 2).permute(0, 4, 1, 2, 3), t(2, 2, 2, 2, 3)
t(1, 1, 2, 3, 2).expand(1, 2, 2, 3, 2), t(2, 2, 2, 2, 3)
t(), t(2, 2, 2, 2, 3) ! batched
t(1, 3, 2, 3, 2), t(2, 2, 2, 2, 3) ! channels)"},
};

// A convolution as the rows know it: with a batch axis, and at least two axes of space.
struct Call {
  TensorHandle x, w;
  int axes;  // of space, as the user sees them
  bool batched;
  Conv attrs;

  Call(int axes, const TensorHandle& input, const TensorHandle& weight, const Dims& stride, const Dims& padding, const Dims& dilation,
      int64_t groups)
      : x(lowered(input)), w(lowered(weight)), axes(axes), batched(input.rank() == axes + 2) {
    require(weight.rank() == axes + 2, "expected a weight of {} dimensions: got {}", axes + 2, weight.shape());
    require(
        batched || input.rank() == axes + 1, "Expected {}D (unbatched) or {}D (batched) input: got {}", axes + 1, axes + 2, input.shape());
    attrs = {spread(stride, axes, "stride", 1), spread(padding, axes, "padding", 0), spread(dilation, axes, "dilation", 1), groups};
    if (!batched) x = unsqueeze(x, 0);
    if (axes > 1) return;
    x = unsqueeze(x, 2), w = unsqueeze(w, 2);
    attrs = {{1, attrs.stride[0]}, {0, attrs.padding[0]}, {1, attrs.dilation[0]}, groups};
  }
  // The result of a row, as the user sees it.
  TensorHandle finish(TensorHandle y) const {
    if (axes == 1) y = remove_axis(y, 2);
    if (!batched) y = remove_axis(y, 0);
    return independent(y);
  }
  TensorHandle run(const TensorHandle& bias) const {
    if (bias.defined()) require(bias.rank() == 1, "expected a 1-d bias: got {}", bias.shape());
    InputList in;
    const TensorHandle b = lowered(bias);
    in.add(x), in.add(w), in.add(b);
    return finish(call(axes == 3 ? op::conv3d : op::conv2d, attrs, in));
  }
  // The gradient with respect to an input of size `size`, where x is the gradient of the output. Sizes that no such input has
  // (output_padding beyond the stride) are cropped from the unpadded result, followed by zeros.
  TensorHandle run_transposed(const Dims& size, const TensorHandle& bias) const {
    const auto& [stride, padding, dilation, groups] = attrs;
    Dims whole = size, none(padding.size(), 0), behind;
    bool beyond = false;
    for (int64_t i = padding.size() - 1; i >= 0; --i) {
      whole[2 + i] = (x.shape()[2 + i] - 1) * Checked(stride[i]) + Checked(dilation[i]) * (w.shape()[2 + i] - 1) + 1;
      beyond |= size[2 + i] + 2 * Checked(padding[i]) - whole[2 + i] >= stride[i];
      behind.push_back(0), behind.push_back(std::max<int64_t>(0, padding[i] + size[2 + i] - whole[2 + i]));
    }
    auto gradient = [&, &stride = stride, &dilation = dilation, groups = groups](const Dims& extents, const Dims& border) {
      return axes == 3 ? conv3d_input(x, w, extents, stride, border, dilation, groups)
                       : conv2d_input(x, w, extents, stride, border, dilation, groups);
    };
    TensorHandle y = beyond ? constant_pad_nd(gradient(whole, none), behind) : gradient(size, padding);
    for (int64_t i = 0; beyond && i < padding.size(); ++i) y = narrow(y, 2 + i, padding[i], size[2 + i]);
    if (beyond) y = contiguous(y);
    if (bias.defined()) {
      require(bias.shape() == Shape{size[1]}, "the bias must have one element per output channel: got {} for weight {}", bias.shape(),
          w.shape());
      Dims along(size.size(), 1);
      along[1] = size[1];
      y = y + reshape(lowered(bias), along);
    }
    return finish(y);
  }
};

// 'same' may need one more element after the end than before the start: the convolution is then padded by that at both sides, and
// its first outputs are left out.
TensorHandle convolve(int axes, const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const std::string& padding, const Dims& dilation, int64_t groups) {
  require<ValueError>(padding == "same" || padding == "valid", "padding must be 'same', 'valid' or numbers: got '{}'", padding);
  Dims after(axes, 0), surplus(axes, 0);
  if (padding == "same") {
    require(weight.rank() == axes + 2, "expected a weight of {} dimensions: got {}", axes + 2, weight.shape());
    const Dims steps = spread(dilation, axes, "dilation", 1);
    for (int64_t s : stride) require<ValueError>(s == 1, "padding='same' requires stride 1: got {}", stride);
    for (int i = 0; i < axes; ++i) {
      const int64_t total = Checked(steps[i]) * (weight.shape()[2 + i] - 1);
      after[i] = total / 2 + (total % 2 > 0);
      surplus[i] = total % 2;
    }
  }
  TensorHandle y = Call(axes, input, weight, stride, after, dilation, groups).run(bias);
  for (int i = 0; i < axes; ++i)
    if (surplus[i]) y = slice(y, y.rank() - axes + i, 1);
  return contiguous(y);
}

TensorHandle transposed(int axes, const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation) {
  const Call c(axes, input, weight, stride, padding, dilation, groups);
  Dims extra = spread(output_padding, axes, "output_padding", 0);
  if (axes == 1) extra = {0, extra[0]};
  const Shape &x = c.x.shape(), &w = c.w.shape();
  require(x[1] == w[0] && groups > 0 && x[1] % groups == 0, "expected {} input channels, got {}: input {}, weight {}, groups {}", w[0],
      x[1], x, w, groups);
  Dims size{x[0], Checked(w[1]) * groups};
  for (int i = 0; i < extra.size(); ++i) {
    const Checked step = c.attrs.stride[i], reach = c.attrs.dilation[i];
    require<ValueError>(extra[i] < std::max<int64_t>(step, reach), "output_padding must be less than stride or dilation: got {}, {} and {}",
        output_padding, stride, dilation);
    size.push_back((x[2 + i] - 1) * step - 2 * Checked(c.attrs.padding[i]) + reach * (w[2 + i] - 1) + extra[i] + 1);
    require(size.back() > 0, "the result has no elements: got {} for weight {}", x, w);
  }
  return c.run_transposed(size, bias);
}

}  // namespace

TensorHandle fn::conv1d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const Dims& padding, const Dims& dilation, int64_t groups) {
  return Call(1, input, weight, stride, padding, dilation, groups).run(bias);
}
TensorHandle fn::conv2d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const Dims& padding, const Dims& dilation, int64_t groups) {
  return Call(2, input, weight, stride, padding, dilation, groups).run(bias);
}
TensorHandle fn::conv3d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const Dims& padding, const Dims& dilation, int64_t groups) {
  return Call(3, input, weight, stride, padding, dilation, groups).run(bias);
}
TensorHandle fn::conv1d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const std::string& padding, const Dims& dilation, int64_t groups) {
  return convolve(1, input, weight, bias, stride, padding, dilation, groups);
}
TensorHandle fn::conv2d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const std::string& padding, const Dims& dilation, int64_t groups) {
  return convolve(2, input, weight, bias, stride, padding, dilation, groups);
}
TensorHandle fn::conv3d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const std::string& padding, const Dims& dilation, int64_t groups) {
  return convolve(3, input, weight, bias, stride, padding, dilation, groups);
}
TensorHandle fn::conv_transpose1d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation) {
  return transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
TensorHandle fn::conv_transpose2d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation) {
  return transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
TensorHandle fn::conv_transpose3d(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias, const Dims& stride,
    const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation) {
  return transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation);
}

void register_conv_functions(OpTable& table) { table.add(functions); }

}  // namespace pyburn
