// An image as the matrix of its patches: two operations that are each other's derivatives.
#include "pyburn/ops/unfold.h"

#include "pyburn/ops/generated/unfold.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

Dims pair(const Dims& v, const char* name, int64_t least) {
  const Dims result = v.size() == 1 ? Dims(2, v[0]) : v;
  require(result.size() == 2, "expected one or two numbers for {}: got {}", name, v);
  for (int64_t n : result) require<ValueError>(n >= least && n <= INT32_MAX, "expected {} of at least {}: got {}", name, least, v);
  return result;
}

// The number of patches, with errors for attributes that no user argument was normalised to.
int64_t checked_patches(const Unfold& a, const Dims& image) {
  for (const Dims* numbers : {&a.kernel_size, &a.dilation, &a.padding, &a.stride})
    pair(*numbers, "each attribute", numbers == &a.padding ? 0 : 1);
  const Dims grid = a.grid(image);
  require(grid[0] > 0 && grid[1] > 0, "the number of patches has zeros, its components must be at least one: got kernel_size {} for {}",
      a.kernel_size, image);
  return Checked(grid[0]) * grid[1];
}
Meta infer_im2col(const Unfold& a, Metas in) {
  const Shape& x = in[0].shape;
  require(x.rank() == 3 || x.rank() == 4, "expected 3 or 4 dimensions: got {}", x);
  require(x[x.rank() - 3] > 0, "Expected 3D or 4D (batch mode) tensor with at least one channel: got {}", x);
  require<DTypeError>(is_floating(in[0].dtype) || in[0].dtype == DType::boolean, "expected a floating dtype or bool: got {}", in[0].dtype);
  const int64_t patches = checked_patches(a, Dims{x[x.rank() - 2], x.back()});
  const int64_t rows = Checked(x[x.rank() - 3]) * a.kernel_size[0] * a.kernel_size[1];
  return {x.rank() == 3 ? Shape{rows, patches} : Shape{x[0], rows, patches}, in[0].dtype};
}
Meta infer_col2im(const Unfold& a, Metas in) {
  const Shape& x = in[0].shape;
  require(x.rank() == 2 || x.rank() == 3, "expected 2 or 3 dimensions: got {}", x);
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  pair(a.output_size, "output_size", 1);
  const int64_t patches = checked_patches(a, a.output_size), rows = x[x.rank() - 2];
  const int64_t taps = Checked(a.kernel_size[0]) * a.kernel_size[1];
  require(
      rows % taps == 0, "expected the size of the dimension of patches to be divisible by the product of kernel_size, {}: got {}", taps, x);
  require(x.back() == patches, "expected {} patches of {} elements per channel: got {}", patches, taps, x);
  const int64_t channels = rows / taps, height = a.output_size[0], width = a.output_size[1];
  return {x.rank() == 2 ? Shape{channels, height, width} : Shape{x[0], channels, height, width}, in[0].dtype};
}

Grads grad_im2col(const Unfold& a, const GradContext& c) {
  const Shape& x = c.meta(0).shape;
  return {col2im(c.dy(), Dims{x[x.rank() - 2], x.back()}, a.kernel_size, a.dilation, a.padding, a.stride)};
}
Grads grad_col2im(const Unfold& a, const GradContext& c) { return {im2col(c.dy(), a.kernel_size, a.dilation, a.padding, a.stride)}; }

}  // namespace

Dims Unfold::grid(const Dims& image) const {
  Dims result;
  for (int i = 0; i < 2; ++i) {
    const int64_t room = image[i] + 2 * Checked(padding[i]) - Checked(dilation[i]) * (kernel_size[i] - 1) - 1;
    result.push_back(room < 0 ? 0 : room / stride[i] + 1);
  }
  return result;
}
Unfold Unfold::from(const TensorHandle&, const Dims& kernel_size, const Dims& dilation, const Dims& padding, const Dims& stride) {
  return {{}, pair(kernel_size, "kernel_size", 1), pair(dilation, "dilation", 1), pair(padding, "padding", 0), pair(stride, "stride", 1)};
}
Unfold Unfold::from(const TensorHandle& x, const Dims& output_size, const Dims& kernel_size, const Dims& dilation, const Dims& padding,
    const Dims& stride) {
  Unfold a = from(x, kernel_size, dilation, padding, stride);
  a.output_size = pair(output_size, "output_size", 1);
  return a;
}

namespace op {
constinit OpInfo im2col = define<Unfold, infer_im2col, grad_im2col>(
    {.schema = "im2col(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> Tensor",
        .doc = "Extracts sliding patches of input (N, C, H, W) or (C, H, W) as columns (N, C * KH * KW, L); see nn.functional.unfold.",
        .torch = "torch.nn.functional.unfold",
        .example = "pyburn.im2col(pyburn.ones(1, 2, 4, 4), 2).shape",
        .samples = R"(
t(2, 2, 4, 5), (2, 3)
t(1, 2, 4, 5), 2, 2, 1, 2
t(2, 4, 5), (2, 2), dilation=(1, 2), padding=(0, 1), stride=(2, 1)
t(0, 2, 4, 5), 2
t(1, 4, 5, 2).permute(0, 3, 1, 2), 2
t(1, 1, 4, 5).expand(2, 2, 4, 5), 2
t(1, 2, 3, 3, dtype=f64), 2
t(1, 2, 3, 3, dtype=f16), 2
t(), 2 ! dimensions
t(1, 2, 3, 3), 5 ! at least one)"});
constinit OpInfo col2im = define<Unfold, infer_col2im, grad_col2im>(
    {.schema = "col2im(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> Tensor",
        .doc = "Adds up patches from im2col into an image of the given size; see nn.functional.fold.",
        .torch = "torch.nn.functional.fold",
        .example = "pyburn.col2im(pyburn.ones(1, 8, 9), (4, 4), 2).shape",
        .samples = R"(
t(2, 12, 9), (4, 5), (2, 3)
t(1, 8, 6), (4, 5), 2, 2, 1, 2
t(8, 6), (3, 4), (2, 2), stride=1
t(8, 10), (4, 5), (2, 2), dilation=(1, 2), padding=(0, 1), stride=(2, 1)
t(0, 8, 6), (3, 4), 2
t(1, 6, 8).transpose(1, 2), (3, 4), 2
t(1, 1, 6).expand(2, 8, 6), (3, 4), 2
t(1, 8, 6, dtype=f64), (3, 4), 2
t(), (3, 4), 2 ! dimensions
t(1, 8, 5), (3, 4), 2 ! patches)"});
}  // namespace op

void register_unfold(OpTable& table) { table.add({&op::im2col, &op::col2im}); }

}  // namespace pyburn
