// Pooling: one number for each window of an image.
#include "pyburn/ops/pool.h"

#include "pyburn/ops/generated/pool.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

void check_image(const Shape& x, int64_t axes) {
  require(axes >= 1 && axes <= 3 && (x.rank() == axes + 1 || x.rank() == axes + 2),
      "non-empty {}D or {}D (batch mode) tensor expected for input: got {} dimensions in {}", axes + 1, axes + 2, x.rank(), x);
}
void check_numbers(const Dims& numbers, int64_t axes, int64_t least, const char* name) {
  require(numbers.size() == axes, "expected {} numbers for {}: got {}", axes, name, numbers);
  for (int64_t n : numbers) require<ValueError>(n >= least && n <= INT32_MAX, "expected {} of at least {}: got {}", name, least, numbers);
}
// The shape of x with its last axes replaced by the numbers of windows.
Shape pooled_shape(const auto& a, const Shape& x) {
  const int64_t axes = a.kernel_size.size();
  check_image(x, axes);
  check_numbers(a.kernel_size, axes, a.adaptive ? 0 : 1, a.adaptive ? "output_size" : "kernel_size");
  if (!a.adaptive) {
    check_numbers(a.stride, axes, 1, "stride");
    check_numbers(a.padding, axes, 0, "padding");
  }
  Shape y = x;
  for (int64_t i = 0, plane = 1; i < axes; ++i) {
    const int64_t at = x.rank() - axes + i;
    require(x[at] > 0 && x[at] <= INT32_MAX / plane, "expected planes of 1 to {} elements: got {}", INT32_MAX, x);  // places are int32
    plane *= x[at];
    const PoolAxis axis = pool_axis(a, i, x[at]);
    const int64_t reach = Checked(axis.dilation) * (axis.kernel - 1) + 1;
    if (!a.adaptive)
      require<ValueError>(2 * Checked(axis.padding) <= reach,
          "pad should be at most half of effective kernel size: got pad {} for kernel_size {}", a.padding, a.kernel_size);
    require(axis.out > 0 || a.adaptive, "the output size is too small, the kernel is larger than the padded input: got {} for {}",
        a.kernel_size, x);
    y[at] = axis.out;
  }
  return y;
}
Meta infer_max(const MaxPool& a, Metas in) {
  require<DTypeError>(in[0].dtype != DType::boolean, "not defined for bool: got {}", in[0].dtype);
  if (!a.adaptive) check_numbers(a.dilation, a.kernel_size.size(), 1, "dilation");
  return {pooled_shape(a, in[0].shape), in[0].dtype};
}
MetaList infer_indices(const MaxPool& a, Metas in) {
  const Meta values = infer_max(a, in);
  return {values, {values.shape, DType::int64}};
}
Meta infer_avg(const AvgPool& a, Metas in) {
  require<DTypeError>(is_floating(in[0].dtype) || in[0].dtype == DType::int64, "expected a floating dtype or int64: got {}", in[0].dtype);
  return {pooled_shape(a, in[0].shape), in[0].dtype};
}
Meta infer_avg_input(const AvgPool& a, Metas in) {
  checked_numel(a.input_size);
  const Meta x{a.input_size, in[0].dtype}, y = infer_avg(a, {&x, 1});
  require(y == in[0], "the shape of the gradient does not match the pooling: got {} for {}", in[0].shape, y.shape);
  return x;
}

// Indices count in the plane of the last axes, of which a tensor of (indices) values and one of planes differ.
void check_planes(const Shape& indices, const Shape& planes, int64_t axes) {
  check_image(indices, axes);
  bool fits = indices.rank() == planes.rank();
  for (int64_t i = 0; fits && i < indices.rank() - axes; ++i) fits = indices[i] == planes[i];
  require(fits, "the shape of indices does not match the planes: got {} for {}", indices, planes);
}
Meta infer_unpool(const Unpool& a, Metas in) {
  const Shape& x = in[0].shape;
  require<DTypeError>(in[1].dtype == DType::int64, "expected indices of int64: got {}", in[1].dtype);
  require(in[1].shape == x, "the shape of indices does not match the input: got {} for {}", in[1].shape, x);
  const int64_t axes = a.output_size.size();
  check_image(x, axes);
  check_numbers(a.output_size, axes, 0, "output_size");
  Shape y = x;
  for (int64_t i = 0; i < axes; ++i) y[x.rank() - axes + i] = a.output_size[i];
  return {y, in[0].dtype};
}
Meta infer_unpool_input(const Unpool& a, Metas in) {
  require<DTypeError>(in[1].dtype == DType::int64, "expected indices of int64: got {}", in[1].dtype);
  check_planes(in[1].shape, in[0].shape, a.output_size.size());
  return {in[1].shape, in[0].dtype};
}

Dims space_of(const Shape& x, int64_t axes) {
  Dims size;
  for (int64_t i = x.rank() - axes; i < x.rank(); ++i) size.push_back(x[i]);
  return size;
}
// The places of the maxima are found again: cheaper than keeping an int64 for every window.
Grads grad_max(const MaxPool& a, const GradContext& c) {
  const auto [values, indices] = max_pool_with_indices(c.input(0), a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode, a.adaptive);
  return {unpool(c.dy(), indices, space_of(c.meta(0).shape, a.kernel_size.size()), true)};
}
Grads grad_indices(const MaxPool& a, const GradContext& c) {
  return {unpool(c.dy(), c.output(1), space_of(c.meta(0).shape, a.kernel_size.size()), true)};
}
Grads grad_unpool(const Unpool& a, const GradContext& c) { return {unpool_input(c.dy(), c.input(1), a.output_size, a.accumulate)}; }
Grads grad_unpool_input(const Unpool& a, const GradContext& c) { return {unpool(c.dy(), c.input(1), a.output_size, true)}; }
Grads grad_avg(const AvgPool& a, const GradContext& c) {
  return {
      avg_pool_input(c.dy(), c.meta(0).shape, a.kernel_size, a.stride, a.padding, a.ceil_mode, a.count_include_pad, a.divisor, a.adaptive)};
}
Grads grad_avg_input(const AvgPool& a, const GradContext& c) {
  return {avg_pool(c.dy(), a.kernel_size, a.stride, a.padding, a.ceil_mode, a.count_include_pad, a.divisor, a.adaptive)};
}

PoolAxis fixed_axis(int64_t extent, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  PoolAxis axis{extent, 0, kernel, stride, padding, dilation};
  const int64_t room = extent + 2 * Checked(padding) - Checked(dilation) * (kernel - 1) - 1;
  const int64_t reached = Checked(room) + (ceil_mode ? stride - 1 : 0);
  if (reached < 0) return axis;
  axis.out = reached / stride + 1;
  if (ceil_mode && (axis.out - 1) * Checked(stride) >= extent + Checked(padding))
    --axis.out;  // the last window starts inside, or in the padding before
  return axis;
}

}  // namespace

PoolAxis pool_axis(const MaxPool& a, int64_t i, int64_t extent) {
  if (a.adaptive) return {.in = extent, .out = a.kernel_size[i], .adaptive = true};
  return fixed_axis(extent, a.kernel_size[i], a.stride[i], a.padding[i], a.dilation[i], a.ceil_mode);
}
PoolAxis pool_axis(const AvgPool& a, int64_t i, int64_t extent) {
  if (a.adaptive) return {.in = extent, .out = a.kernel_size[i], .adaptive = true};
  return fixed_axis(extent, a.kernel_size[i], a.stride[i], a.padding[i], 1, a.ceil_mode);
}

namespace op {
constinit OpInfo max_pool = define<MaxPool, infer_max, grad_max>({.schema = "max_pool(Tensor input, int[] kernel_size, int[] stride, int[] "
                                                                            "padding, int[] dilation, bool ceil_mode, bool adaptive) -> "
                                                                            "Tensor",
    .doc = "Applies max pooling over as many dimensions as kernel_size has; the building block of max_pool1d, 2d and 3d.",
    .saves = inputs,
    .torch = "lambda x, k, s, p, d, c, a: getattr(torch.nn.functional, ('adaptive_' if a else '') + f'max_pool{len(k)}d')(x, k, *([] if a "
             "else [s, p, d, c]))",
    .example = "pyburn.max_pool(pyburn.arange(6.).reshape(1, 6), (2,), (2,), (0,), (1,), False, False)",
    .samples = R"(
t(2, 3, 7), (3,), (2,), (1,), (1,), False, False
t(2, 4, 6), (2, 3), (2, 2), (0, 1), (2, 1), True, False
t(1, 2, 2, 3, 4), (2, 2, 2), (1, 2, 2), (1, 0, 1), (1, 1, 1), False, False
t(1, 5, 7), (3, 2), (), (), (), False, True
t(0, 3, 7), (3,), (2,), (1,), (1,), False, False
t(4, 6, 2).permute(2, 0, 1), (2, 3), (2, 2), (0, 1), (2, 1), True, False
t(1, 5, 6).expand(2, 5, 6), (2, 3), (2, 2), (0, 1), (1, 1), True, False
t(2, 3, 7, dtype=f16), (3,), (2,), (1,), (1,), False, False
t(2, 3, 7, dtype=f64), (3,), (2,), (1,), (1,), False, False
t(), (3,), (2,), (1,), (1,), False, False ! dimensions
t(2, 3, 7), (3,), (2,), (2,), (1,), False, False ! half
t(2, 3, 7), (9,), (2,), (0,), (1,), False, False ! larger)"});
constinit OpInfo max_pool_with_indices =
    define<MaxPool, infer_indices, grad_indices>({.schema = "max_pool_with_indices(Tensor input, int[] kernel_size, int[] stride, int[] "
                                                            "padding, int[] dilation, bool ceil_mode, bool adaptive) -> (Tensor output, "
                                                            "Tensor indices)",
        .doc = "Applies max pooling and also returns the indices of the maxima.",
        .saves = outputs,
        .torch = "lambda x, k, s, p, d, c, a: getattr(torch.nn.functional, ('adaptive_' if a else '') + f'max_pool{len(k)}d')(x, k, *([] "
                 "if a else [s, p, d, c]), return_indices=True)",
        .example = "pyburn.max_pool_with_indices(pyburn.arange(6.).reshape(1, 6), (2,), (2,), (0,), (1,), False, False)",
        .samples = R"(
t(2, 3, 7), (3,), (2,), (1,), (1,), False, False
t(2, 4, 6), (2, 3), (2, 2), (0, 1), (2, 1), True, False
t(1, 2, 2, 3, 4), (2, 2, 2), (1, 2, 2), (1, 0, 1), (1, 1, 1), False, False
t(1, 5, 7), (3, 2), (), (), (), False, True
t(0, 3, 7), (3,), (2,), (1,), (1,), False, False
t(4, 6, 2).permute(2, 0, 1), (2, 3), (2, 2), (0, 1), (2, 1), True, False
t(1, 5, 6).expand(2, 5, 6), (2, 3), (2, 2), (0, 1), (1, 1), True, False
t(2, 3, 7, dtype=f64), (3,), (2,), (1,), (1,), False, False
t(), (3,), (2,), (1,), (1,), False, False ! dimensions)"});
constinit OpInfo unpool = define<Unpool, infer_unpool, grad_unpool>(
    {.schema = "unpool(Tensor input, Tensor indices, int[] output_size, bool accumulate) -> Tensor",
        .doc = "Writes the elements of input at the given indices of planes of zeros.",
        .kind = Kind::gather,
        .saves = inputs,
        .torch = "lambda x, i, size, add: (lambda y, i, x: y.scatter_add(-1, i, x) if add else y.scatter(-1, i, x))(x.new_zeros(*x.shape[: "
                 "-len(size)], int(torch.tensor(size).prod())), i.flatten(-len(size)), x.flatten(-len(size))).unflatten(-1, size)",
        .example = "pyburn.unpool(pyburn.tensor([[3., 4.]]), pyburn.tensor([[1, 2]]), (5,), False)",
        .samples = R"(
t(2, 3), tensor([[0, 2, 3], [4, 3, 1]]), (5,), False
t(1, 2, 2), tensor([[[0, 2], [3, 0]]]), (2, 3), True
t(0, 3), index(0, 3, below=5), (5,), False
t(3, 2).T, tensor([[0, 2, 3], [4, 3, 1]]), (5,), False
t(2, 1).expand(2, 3), tensor([[0, 2, 3], [4, 3, 1]]), (5,), False
t(2, 3, dtype=f64), tensor([[0, 2, 3], [4, 3, 1]]), (5,), False
t(), tensor(0), (5,), False ! dimensions
t(1, 2), tensor([[0, 5]]), (5,), False ! out of range)"});
constinit OpInfo unpool_input =
    define<Unpool, infer_unpool_input, grad_unpool_input>({.schema = "unpool_input(Tensor input, Tensor indices, int[] output_size, bool "
                                                                     "accumulate) -> Tensor",
        .doc = "Computes the gradient of unpool.",
        .kind = Kind::gather,
        .saves = inputs,
        .torch = "lambda x, i, size, add: x.flatten(-len(size)).gather(-1, i.flatten(-len(size))).reshape(i.shape)",
        .example = "pyburn.unpool_input(pyburn.tensor([[3., 4., 5.]]), pyburn.tensor([[1, 2]]), (3,), False)",
        .samples = R"(
t(2, 5), tensor([[0, 2, 3], [4, 3, 1]]), (5,), False
t(1, 2, 3), tensor([[[0, 2], [3, 0]]]), (2, 3), True
t(0, 5), index(0, 3, below=5), (5,), False
t(5, 2).T, tensor([[0, 2, 3], [4, 3, 1]]), (5,), False
t(2, 1).expand(2, 5), tensor([[0, 2, 3], [4, 3, 1]]), (5,), False
t(), tensor(0), (5,), False ! dimensions
t(1, 5), tensor([[0, 5]]), (5,), False ! out of range)"});
constinit OpInfo avg_pool = define<AvgPool, infer_avg, grad_avg>(
    {.schema = "avg_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, "
               "bool count_include_pad, int divisor, bool adaptive) -> Tensor",
        .doc = "Applies average pooling over as many dimensions as kernel_size has; the building block of avg_pool1d, 2d and 3d.",
        .torch =
            "lambda x, k, s, p, c, i, d, a: getattr(torch.nn.functional, ('adaptive_' if a else '') + f'avg_pool{len(k)}d')(x, k, *([] "
            "if a else [s, p, c, i] + ([] if len(k) == 1 else [d or None])))",
        .example = "pyburn.avg_pool(pyburn.arange(6.).reshape(1, 6), (2,), (2,), (0,), False, True, 0, False)",
        .samples = R"(
t(2, 3, 7), (3,), (2,), (1,), False, True, 0, False
t(2, 5, 6), (2, 3), (2, 2), (1, 1), True, False, 0, False
t(2, 5, 6), (2, 3), (2, 2), (1, 1), True, True, 3, False
t(2, 5, 6), (2, 2), (3, 2), (0, 1), True, True, 0, False
t(1, 2, 3, 4, 4), (2, 2, 2), (1, 2, 2), (1, 0, 1), False, True, 0, False
t(2, 5, 7), (3, 2), (), (), False, True, 0, True
t(0, 3, 7), (3,), (2,), (1,), False, True, 0, False
t(5, 6, 2).permute(2, 0, 1), (2, 3), (2, 2), (1, 1), True, False, 0, False
t(1, 5, 6).expand(2, 5, 6), (2, 3), (2, 2), (1, 1), True, False, 0, False
t(2, 3, 7, dtype=bf16), (3,), (2,), (1,), False, True, 0, False
t(2, 3, 7, dtype=f64), (3,), (2,), (1,), False, True, 0, False
t(), (3,), (2,), (1,), False, True, 0, False ! dimensions
t(2, 3, 7, dtype=i32), (3,), (2,), (1,), False, True, 0, False ! floating)"});
constinit OpInfo avg_pool_input =
    define<AvgPool, infer_avg_input, grad_avg_input>({.schema = "avg_pool_input(Tensor grad_output, int[] input_size, int[] kernel_size, "
                                                                "int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int "
                                                                "divisor, bool adaptive) -> Tensor",
        .doc = "Computes the gradient of avg_pool.",
        .torch =
            "lambda g, size, k, s, p, c, i, d, a: torch.func.vjp(lambda x: getattr(torch.nn.functional, ('adaptive_' if a else '') + "
            "f'avg_pool{len(k)}d')(x, k, *([] if a else [s, p, c, i] + ([] if len(k) == 1 else [d or None]))), g.new_zeros(size))[1](g)[0]",
        .example = "pyburn.avg_pool_input(pyburn.ones(1, 3), (1, 6), (2,), (2,), (0,), False, True, 0, False)",
        .samples = R"(
t(2, 3, 4), (2, 3, 7), (3,), (2,), (1,), False, True, 0, False
t(2, 3, 4), (2, 5, 6), (2, 3), (2, 2), (1, 1), True, False, 0, False
t(2, 3, 4), (2, 5, 6), (2, 3), (2, 2), (1, 1), True, True, 3, False
t(2, 3, 2), (2, 5, 7), (3, 2), (), (), False, True, 0, True
t(0, 3, 4), (0, 3, 7), (3,), (2,), (1,), False, True, 0, False
t(3, 4, 2).permute(2, 0, 1), (2, 5, 6), (2, 3), (2, 2), (1, 1), True, False, 0, False
t(1, 3, 4).expand(2, 3, 4), (2, 5, 6), (2, 3), (2, 2), (1, 1), True, False, 0, False
t(), (2, 3, 7), (3,), (2,), (1,), False, True, 0, False ! does not match)"});
}  // namespace op

void register_pool(OpTable& table) {
  table.add({&op::max_pool, &op::max_pool_with_indices, &op::unpool, &op::unpool_input, &op::avg_pool, &op::avg_pool_input});
}

}  // namespace pyburn
