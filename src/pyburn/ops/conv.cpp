// Convolution and its two gradients: three operations that are each other's derivatives.
#include "pyburn/ops/conv.h"

#include <algorithm>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/conv.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

Dims per_axis(const Dims& v, int axes, const char* name, int64_t least) {
  Dims result = v.size() == 1 ? Dims(axes, v[0]) : v;
  require(result.size() == axes, "expected 1 or {} numbers for {}: got {}", axes, name, v);
  for (int64_t n : result) require<ValueError>(n >= least, "expected {} of at least {}: got {}", name, least, v);
  return result;
}

int64_t out_extent(int64_t n, int64_t k, int64_t stride, int64_t padding, int64_t dilation) {
  return (n + 2 * Checked(padding) - Checked(dilation) * (k - 1) - 1) / stride + 1;
}

template <int axes>
Meta infer(const Conv& a, Metas in) {
  const Shape &x = in[0].shape, &w = in[1].shape;
  require(x.rank() == axes + 2 && w.rank() == axes + 2, "expected {} dimensions (batch, channels and {} spatial ones): got {} and {}",
      axes + 2, axes, x, w);
  require<DTypeError>(in[0].dtype == in[1].dtype, "input and weight differ in dtype: got {} and {}", in[0].dtype, in[1].dtype);
  require(a.groups > 0 && w[0] % a.groups == 0, "the number of output channels must be divisible by groups: got {} and {}", w[0], a.groups);
  require(
      x[1] == w[1] * a.groups, "expected {} input channels, got {}: input {}, weight {}, groups {}", w[1] * a.groups, x[1], x, w, a.groups);
  if (in.size() > 2 && !in[2].shape.empty()) {
    require(in[2].shape == Shape{w[0]}, "the bias must have one element per output channel: got {} for weight {}", in[2].shape, w);
    require<DTypeError>(in[2].dtype == in[0].dtype, "input and bias differ in dtype: got {} and {}", in[0].dtype, in[2].dtype);
  }
  for (const Dims* numbers : {&a.stride, &a.padding, &a.dilation}) {
    require(numbers->size() == axes, "expected {} numbers per attribute: got {}", axes, *numbers);
    for (int64_t n : *numbers)
      require<ValueError>(n >= (numbers == &a.padding ? 0 : 1) && n <= INT32_MAX, "number out of range: got {}", *numbers);
  }
  Shape y{x[0], w[0]};
  for (int i = 0; i < axes; ++i) {
    const int64_t reach = Checked(a.dilation[i]) * (w[2 + i] - 1) + 1;
    require(w[2 + i] > 0 && x[2 + i] + 2 * Checked(a.padding[i]) >= reach,
        "Kernel size can't be greater than actual input size, the kernel is larger than the padded input: got weight {} and input {}", w,
        x);
    y.push_back(out_extent(x[2 + i], w[2 + i], a.stride[i], a.padding[i], a.dilation[i]));
  }
  return {y, in[0].dtype};
}
// A gradient has the shape of what it belongs to, so the convolution of input and weight must give dy's.
template <int axes>
Meta checked_grad(const ConvGrad& a, const Meta& x, const Meta& w, const Meta& dy, const Meta& result) {
  for (const Meta* m : {&x, &w, &dy})
    require(m->shape.rank() == axes + 2, "expected {} dimensions: got {}, {} and {}", axes + 2, x.shape, w.shape, dy.shape);
  checked_numel(a.shape);
  const Meta metas[] = {x, w};
  const Meta y = infer<axes>(Conv{a.stride, a.padding, a.dilation, a.groups}, metas);
  require(y == dy, "the shape of the gradient does not match the convolution: got {} for {}", dy.shape, y.shape);
  return result;
}
template <int axes>
Meta infer_input(const ConvGrad& a, Metas in) {
  const Meta x{a.shape, in[0].dtype};
  return checked_grad<axes>(a, x, in[1], in[0], x);
}
template <int axes>
Meta infer_weight(const ConvGrad& a, Metas in) {
  const Meta w{a.shape, in[0].dtype};
  return checked_grad<axes>(a, in[0], w, in[1], w);
}

// The three operations, which are linear in both inputs: the derivatives of each are the other two.
template <int axes>
TensorHandle convolution(const auto& a, const TensorHandle& x, const TensorHandle& w, const TensorHandle& bias = {}) {
  InputList in;
  in.add(x), in.add(w), in.add(bias);
  return call(axes == 2 ? op::conv2d : op::conv3d, Conv{a.stride, a.padding, a.dilation, a.groups}, in);
}
template <int axes>
TensorHandle input_grad(const auto& a, const TensorHandle& dy, const TensorHandle& w, const Shape& x) {
  constexpr auto gradient = [](const auto&... given) { return axes == 2 ? conv2d_input(given...) : conv3d_input(given...); };
  return gradient(dy, w, Dims(x), a.stride, a.padding, a.dilation, a.groups);
}
template <int axes>
TensorHandle weight_grad(const auto& a, const TensorHandle& x, const TensorHandle& dy, const Shape& w) {
  constexpr auto gradient = [](const auto&... given) { return axes == 2 ? conv2d_weight(given...) : conv3d_weight(given...); };
  return gradient(x, dy, Dims(w), a.stride, a.padding, a.dilation, a.groups);
}

template <int axes>
Grads grad_conv(const Conv& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  const Dims space = axes == 2 ? Dims{0, 2, 3} : Dims{0, 2, 3, 4};
  return {c.needs(0) ? input_grad<axes>(a, dy, c.input(1), c.meta(0).shape) : TensorHandle(),
      c.needs(1) ? weight_grad<axes>(a, c.input(0), dy, c.meta(1).shape) : TensorHandle(),
      c.inputs() > 2 && c.needs(2) ? sum(dy, space) : TensorHandle()};
}
template <int axes>
Grads grad_input(const ConvGrad& a, const GradContext& c) {
  const TensorHandle& g = c.dy();
  return {c.needs(0) ? convolution<axes>(a, g, c.input(1)) : TensorHandle(),
      c.needs(1) ? weight_grad<axes>(a, g, c.input(0), c.meta(1).shape) : TensorHandle()};
}
template <int axes>
Grads grad_weight(const ConvGrad& a, const GradContext& c) {
  const TensorHandle& g = c.dy();
  return {c.needs(0) ? input_grad<axes>(a, c.input(1), g, c.meta(0).shape) : TensorHandle(),
      c.needs(1) ? convolution<axes>(a, c.input(0), g) : TensorHandle()};
}

// Without a kernel (integers have none): every window of the padded input is a row of a matrix.
template <int axes>
TensorHandle by_windows(const Conv& a, Inputs in) {
  Dims border;
  for (int i = axes - 1; i >= 0; --i) border.push_back(a.padding[i]), border.push_back(a.padding[i]);
  const TensorHandle x = contiguous(constant_pad_nd(*in[0], border));
  const Shape &w = in[1]->shape(), &padded = x.shape();
  const int64_t outputs = w[0] / a.groups;
  Dims size{padded[0], a.groups}, steps{x.strides()[0], Checked(x.strides()[1]) * w[1]}, result{padded[0], w[0]};
  for (int i = 0; i < axes; ++i) {
    result.push_back(out_extent(padded[2 + i], w[2 + i], a.stride[i], 0, a.dilation[i]));
    size.push_back(result.back()), steps.push_back(Checked(x.strides()[2 + i]) * a.stride[i]);
  }
  size.push_back(w[1]), steps.push_back(x.strides()[1]);
  for (int i = 0; i < axes; ++i) size.push_back(w[2 + i]), steps.push_back(Checked(x.strides()[2 + i]) * a.dilation[i]);
  const int64_t taps = w.numel() / std::max<int64_t>(1, w[0]);
  const int64_t pixels = Shape(result).numel() / std::max<int64_t>(1, Checked(padded[0]) * w[0]);
  const TensorHandle windows = reshape(as_strided(x, size, steps), Dims{padded[0], a.groups, pixels, taps});
  const TensorHandle rows = transpose(reshape(*in[1], Dims{a.groups, outputs, taps}), -2, -1);
  const TensorHandle y = reshape(transpose(matmul(windows, rows), -2, -1), result);
  if (in.size() < 3 || !in[2]->defined()) return y;
  Dims along(axes + 1, 1);
  along[0] = w[0];
  return y + reshape(*in[2], along);
}
// The same for the gradient of the input: every tap of the kernel adds a product at its places.
template <int axes>
TensorHandle by_taps(const ConvGrad& a, Inputs in) {
  const TensorHandle &dy = *in[0], &w = *in[1];
  const int64_t outputs = w.shape()[0] / a.groups, inputs = w.shape()[1];
  Dims padded(a.shape), part(dy.shape());
  part[1] = a.shape[1];
  int64_t taps = 1, pixels = 1;
  for (int i = 0; i < axes; ++i)
    padded[2 + i] = padded[2 + i] + 2 * Checked(a.padding[i]), taps *= w.shape()[2 + i], pixels *= dy.shape()[2 + i];
  TensorHandle dx = zeros(padded, dy.dtype(), &dy.device());
  const TensorHandle columns = reshape(dy, Dims{dy.shape()[0], a.groups, outputs, pixels});
  const TensorHandle weights = reshape(w, Dims{a.groups, outputs, inputs, taps});
  for (int64_t tap = 0; tap < taps; ++tap) {
    TensorHandle place = dx;
    int64_t rest = tap;
    for (int i = axes - 1; i >= 0; --i) {
      const int64_t first = rest % w.shape()[2 + i] * Checked(a.dilation[i]), count = dy.shape()[2 + i];
      rest /= w.shape()[2 + i];
      place = slice(place, 2 + i, first, first + (count - 1) * Checked(a.stride[i]) + 1, a.stride[i]);
    }
    add_into(place, place, reshape(matmul(transpose(select(weights, 3, tap), -2, -1), columns), part));
  }
  for (int i = 0; i < axes; ++i) dx = narrow(dx, 2 + i, a.padding[i], a.shape[2 + i]);
  return contiguous(dx);
}

}  // namespace

Conv Conv::from(const TensorHandle&, const TensorHandle& weight, const TensorHandle&, const Dims& stride, const Dims& padding,
    const Dims& dilation, int64_t groups) {
  const int axes = std::max(1, weight.rank() - 2);
  return {per_axis(stride, axes, "stride", 1), per_axis(padding, axes, "padding", 0), per_axis(dilation, axes, "dilation", 1), groups};
}

namespace {
// Each output (or each input, in the gradient) is multiplied with the taps of one filter.
int64_t cost_of(const Shape& places, const Shape& weight) {
  return Checked(places.numel()) * (weight[0] > 0 ? weight.numel() / weight[0] : 0);
}
int64_t cost(std::span<const Shape* const> in, const Shape& out) { return cost_of(out, *in[1]); }
int64_t cost_input(std::span<const Shape* const> in, const Shape&) { return cost_of(*in[0], *in[1]); }
int64_t cost_weight(std::span<const Shape* const> in, const Shape& out) { return cost_of(*in[1], out); }
}  // namespace

namespace op {
constinit OpInfo conv2d =
    define<Conv, infer<2>, grad_conv<2>, by_windows<2>>({.schema = "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] "
                                                                   "stride=1, int[] padding=0, int[] dilation=1, int groups=1) -> Tensor",
        .doc = "Two-dimensional convolution (cross-correlation) of input (N, C, H, W) with weight (O, C / groups, kh, kw).",
        .kind = Kind::contract,
        .autocast = Autocast::lower,
        .reads = {{1}, {0}},
        .fusing = Fusing::begins,
        .multiply_adds = cost,
        .torch = "torch.nn.functional.conv2d",
        .example = "pyburn.conv2d(pyburn.ones(1, 1, 5, 5), pyburn.ones(2, 1, 3, 3)).shape",
        .samples = R"(
t(2, 3, 6, 5), t(4, 3, 3, 3)
t(2, 3, 6, 5), t(4, 3, 3, 3), t(4), padding=1
t(1, 4, 7, 7), t(6, 2, 3, 2), t(6), stride=2, padding=(1, 0), groups=2
t(1, 2, 8, 8), t(3, 2, 3, 3), dilation=2
t(1, 4, 5, 5), t(4, 1, 3, 3), padding=1, groups=4
t(2, 3, 4, 4), t(8, 3, 1, 1)
t(2, 3, 4, 4), t(8, 3, 1, 1), stride=(2, 1)
t(0, 3, 4, 4), t(8, 3, 1, 1)
t(2, 6, 5, 3).permute(0, 3, 1, 2), t(4, 3, 3, 3), padding=1
t(1, 1, 6, 5).expand(2, 3, 6, 5), t(4, 3, 3, 3)
t(1, 2, 4, 4, dtype=f64), t(2, 2, 3, 3, dtype=f64)
t(1, 2, 4, 4, dtype=f16), t(2, 2, 3, 3, dtype=f16)
t(1, 20, 12, 12), t(70, 20, 3, 3), padding=1
t(1, 4, 5, 6, dtype=i64), t(6, 2, 3, 2, dtype=i64), t(6, dtype=i64), stride=2, padding=(1, 0), dilation=(1, 2), groups=2
t(), t(2, 2, 3, 3) ! batched
t(2, 3, 4, 4), t(8, 4, 1, 1) ! channels
t(2, 3, 2, 2), t(8, 3, 3, 3) ! larger than)"});
constinit OpInfo conv2d_input = define<ConvGrad, infer_input<2>, grad_input<2>, by_taps<2>>(
    {.schema = "conv2d_input(Tensor grad_output, Tensor weight, int[] input_size, int[] stride, "
               "int[] padding, int[] dilation, int groups) -> Tensor",
        .doc = "Computes the gradient of conv2d with respect to its input.",
        .kind = Kind::contract,
        .autocast = Autocast::lower,
        .reads = {{1}, {0}},
        .fusing = Fusing::begins,
        .multiply_adds = cost_input,
        .torch = "lambda dy, w, size, s, p, d, g: torch.nn.grad.conv2d_input(size, w, dy, s, p, d, g)",
        .example = "pyburn.conv2d_input(pyburn.ones(1, 2, 3, 3), pyburn.ones(2, 1, 3, 3), (1, 1, 5, 5), (1, 1), (0, 0), (1, 1), 1).shape",
        .samples = R"(
t(2, 4, 4, 3), t(4, 3, 3, 3), (2, 3, 6, 5), (1, 1), (0, 0), (1, 1), 1
t(1, 6, 4, 3), t(6, 2, 3, 2), (1, 4, 7, 7), (2, 2), (1, 0), (1, 2), 2
t(1, 3, 4, 4), t(3, 2, 3, 3), (1, 2, 8, 8), (1, 1), (0, 0), (2, 2), 1
t(0, 8, 4, 4), t(8, 3, 1, 1), (0, 3, 4, 4), (1, 1), (0, 0), (1, 1), 1
t(2, 4, 3, 4).permute(0, 3, 1, 2), t(4, 2, 1, 1), (2, 2, 4, 3), (1, 1), (0, 0), (1, 1), 1
t(1, 1, 4, 4).expand(2, 4, 4, 4), t(4, 3, 3, 3), (2, 3, 4, 4), (1, 1), (1, 1), (1, 1), 1
t(1, 6, 4, 3, dtype=i64), t(6, 2, 3, 2, dtype=i64), (1, 4, 7, 7), (2, 2), (1, 0), (1, 2), 2
t(), t(4, 3, 3, 3), (2, 3, 4, 4), (1, 1), (1, 1), (1, 1), 1 ! 4 dimensions)"});
constinit OpInfo conv2d_weight =
    define<ConvGrad, infer_weight<2>, grad_weight<2>>({.schema = "conv2d_weight(Tensor input, Tensor grad_output, int[] weight_size, int[] "
                                                                 "stride, int[] padding, int[] dilation, int groups) -> Tensor",
        .doc = "Computes the gradient of conv2d with respect to its weight.",
        .kind = Kind::contract,
        .reads = {{1}, {0}},
        .multiply_adds = cost_weight,
        .torch = "lambda x, dy, size, s, p, d, g: torch.nn.grad.conv2d_weight(x, size, dy, s, p, d, g)",
        .example = "pyburn.conv2d_weight(pyburn.ones(1, 1, 5, 5), pyburn.ones(1, 2, 3, 3), (2, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1).shape",
        .samples = R"(
t(2, 3, 6, 5), t(2, 4, 4, 3), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1
t(1, 4, 7, 7), t(1, 6, 4, 3), (6, 2, 3, 2), (2, 2), (1, 0), (1, 2), 2
t(1, 2, 8, 8), t(1, 3, 4, 4), (3, 2, 3, 3), (1, 1), (0, 0), (2, 2), 1
t(0, 3, 4, 4), t(0, 8, 4, 4), (8, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1
t(2, 4, 3, 2).permute(0, 3, 1, 2), t(2, 4, 4, 3), (4, 2, 1, 1), (1, 1), (0, 0), (1, 1), 1
t(1, 1, 4, 4).expand(2, 3, 4, 4), t(2, 4, 4, 4), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1
t(), t(2, 4, 4, 4), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1 ! 4 dimensions)"});
constinit OpInfo conv3d = define<Conv, infer<3>, grad_conv<3>, by_windows<3>>(
    {.schema = "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] "
               "padding=0, int[] dilation=1, int groups=1) -> Tensor",
        .doc = "Three-dimensional convolution of input (N, C, D, H, W) with weight (O, C / groups, kd, kh, kw).",
        .kind = Kind::contract,
        .autocast = Autocast::lower,
        .reads = {{1}, {0}},
        .fusing = Fusing::begins,
        .multiply_adds = cost,
        .torch = "torch.nn.functional.conv3d",
        .example = "pyburn.conv3d(pyburn.ones(1, 1, 5, 5, 5), pyburn.ones(2, 1, 3, 3, 3)).shape",
        .samples = R"(
t(2, 2, 3, 4, 3), t(3, 2, 2, 2, 3)
t(1, 2, 3, 4, 3), t(3, 2, 3, 3, 3), t(3), padding=1
t(1, 4, 5, 4, 5), t(4, 2, 3, 2, 1), t(4), stride=2, padding=(1, 0, 2), groups=2
t(1, 1, 5, 6, 5), t(2, 1, 2, 3, 3), dilation=(2, 1, 2)
t(1, 2, 2, 3, 3), t(3, 2, 1, 1, 1)
t(0, 2, 3, 4, 3), t(3, 2, 2, 2, 3)
t(2, 3, 4, 3, 2).permute(0, 4, 1, 2, 3), t(3, 2, 2, 2, 3)
t(1, 1, 3, 4, 3).expand(2, 2, 3, 4, 3), t(3, 2, 2, 2, 3)
t(1, 1, 2, 3, 3, dtype=f64), t(1, 1, 2, 2, 2, dtype=f64)
t(1, 1, 2, 3, 3, dtype=bf16), t(1, 1, 2, 2, 2, dtype=bf16)
t(1, 8, 9, 10, 11), t(12, 8, 3, 3, 3), padding=1
t(1, 2, 3, 4, 3, dtype=i64), t(2, 2, 2, 2, 3, dtype=i64), padding=1
t(), t(1, 1, 2, 2, 2) ! batched
t(1, 2, 2, 2, 2), t(1, 3, 2, 2, 2) ! channels)"});
constinit OpInfo conv3d_input = define<ConvGrad, infer_input<3>, grad_input<3>, by_taps<3>>(
    {.schema = "conv3d_input(Tensor grad_output, Tensor weight, int[] input_size, int[] "
               "stride, int[] padding, int[] dilation, int groups) -> Tensor",
        .doc = "Computes the gradient of conv3d with respect to its input.",
        .kind = Kind::contract,
        .autocast = Autocast::lower,
        .reads = {{1}, {0}},
        .fusing = Fusing::begins,
        .multiply_adds = cost_input,
        .torch = "lambda dy, w, size, s, p, d, g: torch.nn.grad.conv3d_input(size, w, dy, s, p, d, g)",
        .example = "pyburn.conv3d_input(pyburn.ones(1, 2, 3, 3, 3), pyburn.ones(2, 1, 1, 1, 1), (1, 1, 3, 3, 3), (1, 1, 1), (0, 0, 0), "
                   "(1, 1, 1), 1).shape",
        .samples = R"(
t(2, 3, 2, 3, 1), t(3, 2, 2, 2, 3), (2, 2, 3, 4, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(1, 4, 3, 2, 3), t(4, 2, 3, 2, 1), (1, 4, 5, 4, 2), (2, 2, 2), (1, 0, 2), (1, 1, 2), 2
t(0, 3, 2, 3, 1), t(3, 2, 2, 2, 3), (0, 2, 3, 4, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(2, 2, 3, 1, 3).permute(0, 4, 1, 2, 3), t(3, 2, 2, 2, 3), (2, 2, 3, 4, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(1, 1, 2, 3, 1).expand(2, 3, 2, 3, 1), t(3, 2, 2, 2, 3), (2, 2, 3, 4, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(), t(3, 2, 2, 2, 3), (2, 2, 3, 4, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1 ! 5 dimensions)"});
constinit OpInfo conv3d_weight =
    define<ConvGrad, infer_weight<3>, grad_weight<3>>({.schema = "conv3d_weight(Tensor input, Tensor grad_output, int[] weight_size, int[] "
                                                                 "stride, int[] padding, int[] dilation, int groups) -> Tensor",
        .doc = "Computes the gradient of conv3d with respect to its weight.",
        .kind = Kind::contract,
        .reads = {{1}, {0}},
        .multiply_adds = cost_weight,
        .torch = "lambda x, dy, size, s, p, d, g: torch.nn.grad.conv3d_weight(x, size, dy, s, p, d, g)",
        .example = "pyburn.conv3d_weight(pyburn.ones(1, 1, 3, 3, 3), pyburn.ones(1, 2, 3, 3, 3), (2, 1, 1, 1, 1), (1, 1, 1), (0, 0, 0), "
                   "(1, 1, 1), 1).shape",
        .samples = R"(
t(2, 2, 3, 4, 3), t(2, 3, 2, 3, 1), (3, 2, 2, 2, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(1, 4, 5, 4, 2), t(1, 4, 3, 2, 3), (4, 2, 3, 2, 1), (2, 2, 2), (1, 0, 2), (1, 1, 2), 2
t(0, 2, 3, 4, 3), t(0, 3, 2, 3, 1), (3, 2, 2, 2, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(2, 3, 4, 3, 2).permute(0, 4, 1, 2, 3), t(2, 3, 2, 3, 1), (3, 2, 2, 2, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(1, 1, 3, 4, 3).expand(2, 2, 3, 4, 3), t(2, 3, 2, 3, 1), (3, 2, 2, 2, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1
t(), t(2, 3, 2, 3, 1), (3, 2, 2, 2, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1 ! 5 dimensions)"});
}  // namespace op

void register_conv(OpTable& table) {
  table.add({&op::conv2d, &op::conv2d_input, &op::conv2d_weight, &op::conv3d, &op::conv3d_input, &op::conv3d_weight});
}

}  // namespace pyburn
