// Maxima of windows whose places are drawn at random, so that a fraction of the extent remains.
#include "pyburn/ops/generated/fractional_pool.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/random.h"
#include "pyburn/ops/rules.h"
#include "pyburn/ops/spatial.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "fractional_max_pool2d_with_indices(Tensor input, int[] kernel_size, int[]? output_size=None, float[]? output_ratio=None, "
               "Tensor? _random_samples=None) -> (Tensor output, Tensor indices)",
        .doc = "Applies 2-d fractional max pooling (randomly placed windows) to input (N, C, H, W) or (C, H, W); also returns the indices "
               "of the maxima.",
        .torch = "lambda x, k, output_size=None, output_ratio=None, _random_samples=None: torch.nn.functional.fractional_max_pool2d(x, k, "
                 "output_size, output_ratio, True, _random_samples)",
        .example = "pyburn.fractional_max_pool2d_with_indices(pyburn.ones(1, 1, 5, 5), 2, 3)[0].shape",
        .samples = R"(
t(2, 1, 6, 4), 2, (3, 2), None, fraction(2, 1, 2).constant
t(2, 4, 6), (2, 3), 3, None, fraction(1, 2, 2).constant
t(1, 1, 7, 6), 2, None, (0.5, 0.75), _random_samples=fraction(1, 1, 2).constant
t(1, 1, 4, 5), (2, 2), output_size=(1, 1), _random_samples=fraction(1, 1, 2).constant
t(0, 1, 4, 5), 2, 2, None, t(0, 1, 2).constant
t(1, 5, 4, 1).transpose(1, 3), 2, 3, None, fraction(1, 1, 2).constant
t(1, 1, 4, 5).expand(2, 3, 4, 5), 2, 3, None, fraction(2, 3, 2).constant
t(1, 1, 4, 5, dtype=f64), 2, 2, None, fraction(1, 1, 2, dtype=f64).constant
t(1, 1, 5, 5), 5, 1
t(), 2, 2 ! dimensions
t(1, 1, 4, 5), 2 ! output_size
t(1, 1, 4, 5), 2, 2, None, t(1, 2, 2) ! samples
t(1, 1, 4, 5), 4, 3 ! too large)"},
    {.schema = "fractional_max_pool3d_with_indices(Tensor input, int[] kernel_size, int[]? output_size=None, float[]? output_ratio=None, "
               "Tensor? _random_samples=None) -> (Tensor output, Tensor indices)",
        .doc = "Applies 3-d fractional max pooling (randomly placed windows) to input (N, C, D, H, W) or (C, D, H, W); also returns the "
               "indices of the maxima.",
        .torch = "lambda x, k, output_size=None, output_ratio=None, _random_samples=None: torch.nn.functional.fractional_max_pool3d(x, k, "
                 "output_size, output_ratio, True, _random_samples)",
        .example = "pyburn.fractional_max_pool3d_with_indices(pyburn.ones(1, 1, 5, 5, 5), 2, 3)[0].shape",
        .samples = R"(
t(1, 1, 4, 3, 4), 2, (2, 1, 2), None, fraction(1, 1, 3).constant
t(1, 4, 3, 4), (2, 1, 3), (2, 2, 1), None, fraction(1, 1, 3).constant
t(1, 1, 4, 4, 3), 2, None, 0.5, _random_samples=fraction(1, 1, 3).constant
t(0, 1, 4, 5, 4), 2, 2, None, t(0, 1, 3).constant
t(1, 1, 3, 4, 4).transpose(2, 3), 2, (2, 1, 2), None, fraction(1, 1, 3).constant
t(1, 1, 3, 4, 4).expand(1, 2, 3, 4, 4), 2, (1, 2, 2), None, fraction(1, 2, 3).constant
t(1, 1, 4, 3, 4), (3, 2, 3), 1
t(), 2, 2 ! dimensions
t(1, 1, 4, 5, 4), 2 ! output_size)"},
};

// (N, C, outputs, window): the places along one axis. The last window ends where the axis ends.
TensorHandle places(const TensorHandle& sample, int64_t extent, int64_t window, int64_t outputs) {
  Device* device = &sample.device();
  auto numbers = [&](int64_t n) { return arange(0, n, 1, DType::int64, device); };
  const TensorHandle s = unsqueeze(sample, 2), i = numbers(outputs);
  const double step = outputs > 1 ? double(extent - window) / double(outputs - 1) : 0;
  const TensorHandle first = cast((s + cast(i, s.dtype())) * step, DType::int64) - cast(s * step, DType::int64);
  return unsqueeze(where(eq(i, outputs - 1), extent - window, first), 3) + numbers(window);
}

Handles<2> pooled(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& output_size, const OptionalNumbers& output_ratio,
    const TensorHandle& samples, int axes) {
  require(input.rank() == axes + 1 || input.rank() == axes + 2, "expected {} or {} dimensions: got {}", axes + 1, axes + 2, input.shape());
  require<ValueError>(output_size || output_ratio, "expected output_size or output_ratio: got neither");
  const bool batched = input.rank() == axes + 2;
  for (int i = batched; i < input.rank(); ++i)
    require(input.shape()[i] > 0, "Expected input with non-zero sizes, except for the batch: got {}", input.shape());
  const TensorHandle x = batched ? input : unsqueeze(input, 0);
  const Dims kernel = spread(kernel_size, axes, "kernel_size", 1);
  Dims outputs(axes, 1);
  if (output_size) outputs = spread(*output_size, axes, "output_size", 1);
  else require<ValueError>(output_ratio->size() == 1 || output_ratio->size() == axes, "expected 1 or {} ratios", axes);
  for (int i = 0; i < axes; ++i) {
    const int64_t extent = x.shape()[2 + i];
    if (!output_size) {
      const double ratio = (*output_ratio)[output_ratio->size() == 1 ? 0 : i];
      require<ValueError>(ratio > 0 && ratio < 1, "expected output_ratio between 0 and 1: got {}", ratio);
      outputs[i] = int64_t(double(extent) * ratio);
    }
    require(Checked(outputs[i]) + kernel[i] - 1 <= extent, "windows of {}, {} of them, are too large relative to the input: got {}",
        kernel[i], outputs[i], input.shape());
  }
  const int64_t n = x.shape()[0], channels = x.shape()[1];
  const bool more = samples.defined() && samples.rank() == 3 && samples.shape()[0] > n;  // than the examples need
  const TensorHandle drawn = more                ? narrow(samples, 0, 0, n)
                             : samples.defined() ? samples
                                                 : draw(Dims{n, channels, axes}, Draw::uniform, 0, 1, x.dtype(), &x.device(), nullptr);
  require<DTypeError>(
      drawn.dtype() == x.dtype(), "Expect _random_samples to have the same dtype as input: got {} for {}", drawn.dtype(), x.dtype());
  require(
      drawn.shape() == (Shape{n, channels, axes}), "Expect _random_samples of shape {}: got {}", (Shape{n, channels, axes}), drawn.shape());
  // The index of every element of every window within its plane: axes of outputs first, then those of the window.
  TensorHandle index;
  for (int i = 0; i < axes; ++i) {
    const int sample = axes == 2 ? 1 - i : i;  // PyTorch numbers those of images from the last axis
    Dims shape(2 + 2 * axes, 1);
    shape[0] = n, shape[1] = channels, shape[2 + i] = outputs[i], shape[2 + axes + i] = kernel[i];
    const TensorHandle along = reshape(places(select(drawn, 2, sample), x.shape()[2 + i], kernel[i], outputs[i]), shape);
    index = i == 0 ? along : index * x.shape()[2 + i] + along;  // fits: places of elements
  }
  const int64_t windows = Shape(outputs).numel(), window = Shape(kernel).numel();
  Checked elements = 1;
  for (int i = 2; i < x.rank(); ++i) elements *= x.shape()[i];
  const TensorHandle plane = reshape(x, Dims{n, channels, elements}), flat = reshape(index, Dims{n, channels, windows * window});
  const TensorHandle seen = reshape(gather(detach(plane), 2, flat), Dims{n, channels, windows, window});
  const TensorHandle largest = gather(reshape(flat, seen.shape()), 3, argmax(seen, 3, true));
  Dims size{n, channels};
  size.append(outputs.begin(), outputs.end());
  auto finished = [&](const TensorHandle& t) { return independent(batched ? reshape(t, size) : remove_axis(reshape(t, size), 0)); };
  const TensorHandle indices = remove_axis(largest, 3);
  return {finished(gather(plane, 2, indices)), finished(indices)};
}

}  // namespace

Handles<2> fn::fractional_max_pool2d_with_indices(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& output_size,
    const OptionalNumbers& output_ratio, const TensorHandle& random_samples) {
  return pooled(input, kernel_size, output_size, output_ratio, random_samples, 2);
}
Handles<2> fn::fractional_max_pool3d_with_indices(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& output_size,
    const OptionalNumbers& output_ratio, const TensorHandle& random_samples) {
  return pooled(input, kernel_size, output_size, output_ratio, random_samples, 3);
}

void register_fractional_pool(OpTable& table) { table.add(functions); }

}  // namespace pyburn
