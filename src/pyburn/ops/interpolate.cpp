// Images in another size: interpolate, of one axis after the other; and rearrangements of channels and pixels.
#include "pyburn/ops/interpolate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/interpolate.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/pool_functions.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

Meta infer(const Resize& a, Metas in, int64_t from, int64_t to) {
  const Shape& x = in[0].shape;
  check_dim(a.dim, x.rank());
  require(x.rank() > 0, "expected at least one dimension: got rank 0");
  const bool nearest = a.mode == "nearest" || a.mode == "nearest-exact";
  require<ValueError>(nearest || a.mode == "linear" || a.mode == "cubic" || (a.mode == "lanczos" && a.antialias),
      "mode must be nearest, nearest-exact, linear, cubic or, with antialias, lanczos: got '{}'", a.mode);
  require<DTypeError>(is_floating(in[0].dtype) || (nearest && in[0].dtype == DType::uint8), "unsupported dtype: got {}", in[0].dtype);
  require(from > 0 && to > 0 && x[a.dim] == from, "sizes do not match: got {} to {} for {}", from, to, x);
  Shape y = x;
  y[a.dim] = to;
  return {y, in[0].dtype};
}
Meta infer_resize(const Resize& a, Metas in) { return infer(a, in, a.input_size, a.output_size); }
Meta infer_input(const Resize& a, Metas in) { return infer(a, in, a.output_size, a.input_size); }
Grads grad_resize(const Resize& a, const GradContext& c) {
  return {resize_axis_input(c.dy(), a.dim, a.input_size, a.output_size, a.mode, a.align_corners, a.scale, a.antialias)};
}
Grads grad_input(const Resize& a, const GradContext& c) {
  return {resize_axis(c.dy(), a.dim, a.input_size, a.output_size, a.mode, a.align_corners, a.scale, a.antialias)};
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

double lanczos(double x) {  // a sinc in the window of a wider one, which ends at 3
  auto sinc = [](double v) { return v == 0 ? 1 : std::sin(std::numbers::pi * v) / (std::numbers::pi * v); };
  return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
}

// Collects the weights of one output; elements outside count for the border.
class TapWriter {
 public:
  TapWriter(ResizeTaps& taps, int64_t o, int64_t extent, int64_t first, int64_t n)
      : begin_(std::clamp<int64_t>(first, 0, extent - 1)), end_(std::clamp<int64_t>(first + n - 1, 0, extent - 1)) {
    taps.first[size_t(o)] = begin_;
    taps.count[size_t(o)] = end_ - begin_ + 1;
    weights_ = taps.weights.data() + o * taps.width;
  }
  void add(int64_t i, double weight) { weights_[std::clamp(i, begin_, end_) - begin_] += weight; }

 private:
  int64_t begin_, end_;
  double* weights_;
};

int64_t nearest(const Resize& a, double scale, int64_t o) {  // in single precision, as PyTorch counts
  if (a.mode == "nearest" && a.output_size == a.input_size) return o;
  const float position = (float(o) + (a.mode == "nearest" ? 0.0f : 0.5f)) * float(scale);
  return std::min(int64_t(std::floor(position)), a.input_size - 1);
}

}  // namespace

ResizeTaps resize_taps(const Resize& a) {
  const int64_t n = a.input_size, m = a.output_size;
  const bool is_nearest = a.mode.starts_with("nearest"), is_cubic = a.mode == "cubic", is_lanczos = a.mode == "lanczos";
  double scale = a.scale > 0 ? a.scale : double(n) / double(m);
  if (a.align_corners) scale = m > 1 ? double(n - 1) / double(m - 1) : 0;
  scale = std::min(scale, 0x1p53 / double(std::max<int64_t>(m, 1)));                // positions stay integers of 64 bits
  const double reach = (is_lanczos ? 3 : is_cubic ? 2 : 1) * std::max(scale, 1.0);  // antialias: how far the filter sees
  ResizeTaps taps;
  taps.width = is_nearest ? 1 : a.antialias ? 2 * int64_t(std::ceil(std::min(reach, double(n)))) + 1 : is_cubic ? 4 : 2;
  taps.first.resize(size_t(m)), taps.count.resize(size_t(m));
  taps.weights.assign(size_t(m * taps.width), 0.0);
  for (int64_t o = 0; o < m; ++o) {
    if (is_nearest) {
      TapWriter(taps, o, n, nearest(a, scale, o), 1).add(nearest(a, scale, o), 1);
    } else if (a.antialias) {
      const double center = scale * (double(o) + 0.5);
      const int64_t begin = std::max<int64_t>(int64_t(center - reach + 0.5), 0), end = std::min(int64_t(center + reach + 0.5), n);
      TapWriter writer(taps, o, n, begin, end - begin);
      auto weight = [&](int64_t i) {
        const double x = (double(i) - center + 0.5) / std::max(scale, 1.0);
        return is_lanczos ? lanczos(x) : is_cubic ? cubic(x, -0.5) : std::max(0.0, 1 - std::abs(x));
      };
      double total = 0;
      for (int64_t i = begin; i < end; ++i) total += weight(i);
      for (int64_t i = begin; i < end; ++i) writer.add(i, weight(i) / total);
    } else {
      double position = a.align_corners ? scale * double(o) : scale * (double(o) + 0.5) - 0.5;
      if (!is_cubic) position = std::max(position, 0.0);
      const auto i = int64_t(std::floor(position));
      const double t = position - double(i);
      TapWriter writer(taps, o, n, is_cubic ? i - 1 : i, is_cubic ? 4 : 2);
      if (is_cubic)
        for (int64_t k = -1; k <= 2; ++k) writer.add(i + k, cubic(t - double(k), -0.75));
      else writer.add(i, 1 - t), writer.add(i + 1, t);
    }
  }
  return taps;
}

namespace op {
constinit OpInfo resize_axis = define<Resize, infer_resize, grad_resize>(
    {.schema = "resize_axis(Tensor input, int dim, int input_size, int output_size, str mode, bool align_corners, float scale, bool "
               "antialias) -> Tensor",
        .doc = "Resizes one dimension by interpolation; the building block of interpolate.",
        .torch = "lambda x, d, n, m, mode, a, s, aa: torch.nn.functional.interpolate(x.movedim(d, -1).flatten(0, -2)[None], m, mode=mode, "
                 "align_corners=a if mode == 'linear' else None)[0].unflatten(0, x.movedim(d, -1).shape[:-1]).movedim(-1, d) if not aa and "
                 "mode != 'cubic' else torch.nn.functional.interpolate(x.movedim(d, -1).flatten(0, -2)[None, :, None].expand(-1, -1, 4, "
                 "-1), (4, m), mode={'linear': 'bilinear', 'cubic': 'bicubic'}[mode], align_corners=a, antialias=aa)[0, :, "
                 "1].unflatten(0, x.movedim(d, -1).shape[:-1]).movedim(-1, d)",
        .example = "pyburn.resize_axis(pyburn.tensor([[0., 1.]]), 1, 2, 4, 'linear', False, 0.0, False)",
        .samples = R"(
t(2, 3), 1, 3, 5, 'nearest', False, 0.0, False
t(2, 5), 1, 5, 3, 'nearest-exact', False, 0.0, False
t(2, 3, 2), 1, 3, 5, 'linear', False, 0.0, False
t(2, 3), 1, 3, 6, 'linear', True, 0.0, False
t(2, 4), 1, 4, 7, 'cubic', False, 0.0, False
t(2, 4), 1, 4, 7, 'cubic', True, 0.0, False
t(2, 7), 1, 7, 3, 'linear', False, 0.0, True
t(2, 9), 1, 9, 4, 'cubic', False, 0.0, True
t(2, 3), 1, 3, 5, 'linear', False, 0.6, False
t(3, 2), 0, 3, 5, 'linear', False, 0.0, False
t(3, 2).T, 1, 3, 5, 'linear', False, 0.0, False
t(1, 3).expand(2, 3), 1, 3, 5, 'linear', False, 0.0, False
t(2, 3, dtype=f64), 1, 3, 5, 'linear', False, 0.0, False
t(2, 3, dtype=bf16), 1, 3, 5, 'linear', False, 0.0, False
t(), 0, 1, 2, 'linear', False, 0.0, False ! dimension
t(0, 3), 0, 0, 2, 'linear', False, 0.0, False ! sizes
t(2, 3), 1, 3, 5, 'quintic', False, 0.0, False ! mode)"});
constinit OpInfo resize_axis_input = define<Resize, infer_input, grad_input>(
    {.schema = "resize_axis_input(Tensor input, int dim, int input_size, int output_size, str mode, bool align_corners, float scale, bool "
               "antialias) -> Tensor",
        .doc = "Computes the gradient of resize_axis.",
        .torch = "lambda g, d, n, m, mode, a, s, aa: torch.func.vjp(lambda x: torch.nn.functional.interpolate(x.movedim(d, -1).flatten(0, "
                 "-2)[None, :, None].expand(-1, -1, 4, -1), (4, m), mode={'linear': 'bilinear', 'cubic': 'bicubic'}.get(mode, mode), "
                 "align_corners=a if mode in ('linear', 'cubic') else None, antialias=aa)[0, :, 1].unflatten(0, x.movedim(d, "
                 "-1).shape[:-1]).movedim(-1, d), g.new_zeros([n if i == d else e for i, e in enumerate(g.shape)]))[1](g)[0]",
        .example = "pyburn.resize_axis_input(pyburn.ones(1, 4), 1, 2, 4, 'linear', False, 0.0, False)",
        .samples = R"(
t(2, 5), 1, 3, 5, 'nearest', False, 0.0, False
t(2, 5, 2), 1, 3, 5, 'linear', False, 0.0, False
t(2, 6), 1, 3, 6, 'linear', True, 0.0, False
t(2, 7), 1, 4, 7, 'cubic', False, 0.0, False
t(2, 3), 1, 7, 3, 'linear', False, 0.0, True
t(2, 5), 1, 3, 5, 'linear', False, 0.6, False
t(5, 2), 0, 3, 5, 'linear', False, 0.0, False
t(5, 2).T, 1, 3, 5, 'linear', False, 0.0, False
t(1, 5).expand(2, 5), 1, 3, 5, 'linear', False, 0.0, False
t(), 0, 1, 2, 'linear', False, 0.0, False ! dimension
t(0, 3), 0, 2, 0, 'linear', False, 0.0, False ! sizes)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "interpolate(Tensor input, int[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? align_corners=None, "
               "bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
        .doc = "Resizes input (N, C, ...) to the given size or by the given scale factor.",
        .torch = "torch.nn.functional.interpolate",
        .example = "pyburn.interpolate(pyburn.ones(1, 1, 2, 2), scale_factor=2).shape",
        .samples = R"(
t(1, 2, 3), 5
t(1, 2, 3, 4), scale_factor=2
t(1, 2, 3, 4), scale_factor=(1.5, 0.5), mode='bilinear'
t(1, 2, 3, 4), (5, 3), None, 'bilinear', True
t(1, 2, 3, 4), scale_factor=1.7, mode='bilinear', recompute_scale_factor=True
t(1, 2, 3, 4), (5, 6), mode='bicubic'
t(1, 2, 3, 4), (5, 6), mode='bicubic', align_corners=True
t(1, 1, 6, 5), (3, 2), mode='bilinear', antialias=True
t(1, 1, 6, 5), (3, 2), mode='bicubic', antialias=True
t(1, 2, 3), 5, mode='linear'
t(1, 2, 3, 4), (2, 5), mode='nearest-exact'
t(1, 2, 3, 4), (2, 5), mode='area'
t(1, 1, 2, 3, 2), (3, 2, 4), mode='trilinear'
t(1, 1, 2, 3, 2), 3
t(0, 2, 3), 5
t(1, 3, 4, 2).permute(0, 3, 1, 2), scale_factor=2, mode='bilinear'
t(1, 1, 3, 4).expand(1, 2, 3, 4), 5
t(1, 2, 3, 4, dtype=f64), (5, 3), mode='bilinear'
t(), 5 ! dimensions
t(1, 2, 3) ! size
t(1, 2, 3), 5, mode='bilinear' ! mode
t(1, 2, 3), 5, align_corners=True ! align_corners)"},
    {.schema = "pixel_shuffle(Tensor input, int upscale_factor) -> Tensor",
        .doc = "Rearranges (..., C * r^2, H, W) to (..., C, H * r, W * r) for an upscale factor r.",
        .example = "pyburn.pixel_shuffle(pyburn.ones(1, 4, 2, 2), 2).shape",
        .samples = "t(1, 4, 2, 3), 2\nt(9, 1, 2), 3\nt(2, 1, 4, 1, 1), 2\nt(0, 4, 2, 3).constant, 2\nt(1, 2, 3, 4).permute(0, 3, 1, 2), 2\n"
                   "t(1, 1, 2, 3).expand(1, 4, 2, 3), 2\nt(), 2 ! dimensions\nt(1, 3, 2, 2), 2 ! channels"},
    {.schema = "pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor",
        .doc = "Rearranges (..., C, H * r, W * r) to (..., C * r^2, H, W) for a downscale factor r.",
        .example = "pyburn.pixel_unshuffle(pyburn.ones(1, 1, 4, 4), 2).shape",
        .samples = "t(1, 1, 4, 6), 2\nt(1, 3, 6), 3\nt(0, 1, 4, 6), 1\nt(1, 4, 6, 2).permute(0, 3, 1, 2), 2\n"
                   "t(1, 1, 4, 2).expand(1, 3, 4, 2), 2\nt(), 2 ! dimensions\nt(1, 1, 3, 4), 2 ! divisible"},
    {.schema = "channel_shuffle(Tensor input, int groups) -> Tensor",
        .doc = "Splits the channels of input (N, C, ...) into groups and interleaves them.",
        .example = "pyburn.channel_shuffle(pyburn.arange(4.).reshape(1, 4, 1), 2)",
        .samples = "t(1, 4, 2, 3), 2\nt(2, 6, 2), 3\nt(0, 4, 2), 2\nt(1, 2, 4).transpose(1, 2), 2\nt(1, 4, 1).expand(1, 4, 3), 2\n"
                   "t(), 2 ! dimensions\nt(1, 3, 2), 2 ! divisible"},
};
}  // namespace

namespace {
// Do the axes follow each other as in channels-last images, with or without gaps? PyTorch's rule, which counts (N, 1, 1, 1) as plain.
bool has_channels_last(const Layout& x) {
  const int rank = x.rank();
  if (x.strides[1] == 0 || x.is_contiguous()) return false;
  int64_t least = 0;
  for (int k = 0; k < rank; ++k) {
    const int axis = k == 0 ? 1 : k == rank - 1 ? 0 : rank - k;
    if (x.strides[axis] < least || (axis == 0 && least == x.strides[1])) return false;
    least = Checked(x.strides[axis]) * std::max<int64_t>(x.shape[axis], 1);
  }
  return true;
}
}  // namespace

TensorHandle fn::interpolate(const TensorHandle& input, const OptionalDims& size, const OptionalNumbers& scale_factor,
    const std::string& mode, std::optional<bool> align_corners, std::optional<bool> recompute_scale_factor, bool antialias) {
  const int axes = input.rank() - 2;
  require(axes >= 1 && axes <= 3, "expected 3 to 5 dimensions: got {}", input.shape());
  require<ValueError>(size.has_value() != scale_factor.has_value(), "expected either size or scale_factor");
  const bool nearest = mode == "nearest" || mode == "nearest-exact", area = mode == "area";
  const char* by_axes[] = {"linear", "bilinear", "trilinear"};
  require<ValueError>(nearest || area || mode == by_axes[axes - 1] || ((mode == "bicubic" || mode == "lanczos") && axes == 2),
      "mode does not support an input with {} dimensions: got '{}'", input.rank(), mode);
  require<ValueError>(!align_corners || !(nearest || area), "align_corners is not supported by mode '{}'", mode);
  const bool lanczos = mode == "lanczos";
  require<ValueError>(!antialias || (axes == 2 && (mode == "bilinear" || mode == "bicubic" || lanczos)),
      "antialias requires mode bilinear, bicubic or lanczos: got '{}'", mode);
  require<ValueError>(!lanczos || antialias, "lanczos needs antialias=True");
  require<ValueError>(!lanczos || !align_corners.value_or(false), "lanczos does not support align_corners=True");
  require<ValueError>(!size || !recompute_scale_factor.value_or(false), "recompute_scale_factor requires scale_factor, not size");
  Dims extents;
  Numbers scales(axes, 0.0);
  if (size) {
    extents = size->size() == 1 ? Dims(axes, (*size)[0]) : *size;
    require<ValueError>(extents.size() == axes, "expected one or {} numbers for size: got {}", axes, *size);
  } else {
    const Numbers factors = scale_factor->size() == 1 ? Numbers(axes, (*scale_factor)[0]) : *scale_factor;
    require<ValueError>(factors.size() == axes, "expected one or {} numbers for scale_factor: got {}", axes, factors.size());
    for (int i = 0; i < axes; ++i) {
      require<ValueError>(factors[i] > 0, "expected a scale_factor above 0: got {}", factors[i]);
      extents.push_back(int64_t(std::floor(double(input.shape()[2 + i]) * factors[i])));
      if (!recompute_scale_factor.value_or(false)) scales[i] = 1 / factors[i];
    }
  }
  for (int i = 0; i < axes; ++i)
    require(extents[i] > 0 && input.shape()[2 + i] > 0, "expected sizes of at least 1: got {} for {}", extents, input.shape());
  if (area)
    return axes == 1   ? adaptive_avg_pool1d(input, extents)
           : axes == 2 ? adaptive_avg_pool2d(input, extents)
                       : adaptive_avg_pool3d(input, extents);
  // From the last axis to the first: the rows that a later axis adds need not be resized along an earlier one.
  // Pixels that are bytes are bytes again after each axis, as in PyTorch.
  const bool bytes = input.dtype() == DType::uint8 && (mode == "bilinear" || mode == "bicubic" || lanczos);
  TensorHandle y = input;
  for (int i = axes - 1; i >= 0; --i) {
    const int64_t from = input.shape()[2 + i];
    if (from == extents[i] && (size || scales[i] == 0 || scales[i] == 1) && mode != "nearest-exact") continue;
    y = resize_axis(bytes ? cast(y, DType::float32) : y, 2 + i, from, extents[i],
        nearest || lanczos  ? mode
        : mode == "bicubic" ? "cubic"
                            : "linear",
        align_corners.value_or(false), scales[i], antialias);
    if (bytes) y = cast(clamp(floor(y + 0.5), 0, 255), DType::uint8);
  }
  if (y.is_same(input)) return clone(input);
  // A dimension order that the user requested is kept.
  const MemoryOrder order = axes == 2 ? MemoryOrder::channels_last : MemoryOrder::channels_last_3d;
  return axes >= 2 && has_channels_last(input.layout()) ? in_order(y, order) : y;
}

namespace {
// How many (channel, row, column) blocks there are.
int64_t images(const Shape& s) {
  int64_t n = 1;
  for (int i = 0; i < s.rank() - 3; ++i) n *= s[i];
  return n;
}
}  // namespace

TensorHandle fn::pixel_shuffle(const TensorHandle& input, int64_t upscale_factor) {
  const int64_t r = upscale_factor, rank = input.rank();
  require(rank >= 3, "expected at least 3 dimensions: got {}", input.shape());
  require<ValueError>(r > 0 && r <= INT32_MAX, "expected a positive upscale_factor whose square does not overflow: got {}", r);
  const int64_t c = input.shape()[rank - 3], h = input.shape()[rank - 2], w = input.shape()[rank - 1];
  require(c % (r * r) == 0, "the number of channels must be divisible by {}: got {}", r * r, input.shape());
  Dims size = input.shape();
  size[rank - 3] = c / r / r, size[rank - 2] = Checked(h) * r, size[rank - 1] = Checked(w) * r;
  const int64_t batch = images(input.shape());
  const TensorHandle parts = permute(reshape(input, Dims{batch, c / r / r, r, r, h, w}), Dims{0, 1, 4, 2, 5, 3});
  return independent(reshape(parts, size));
}
TensorHandle fn::pixel_unshuffle(const TensorHandle& input, int64_t downscale_factor) {
  const int64_t r = downscale_factor, rank = input.rank();
  require(rank >= 3, "expected at least 3 dimensions: got {}", input.shape());
  require<ValueError>(r > 0 && r <= INT32_MAX, "expected a positive downscale_factor whose square does not overflow: got {}", r);
  const int64_t c = input.shape()[rank - 3], h = input.shape()[rank - 2], w = input.shape()[rank - 1];
  require(h % r == 0 && w % r == 0, "the sizes must be divisible by {}: got {}", r, input.shape());
  Dims size = input.shape();
  size[rank - 3] = Checked(c) * r * r, size[rank - 2] = h / r, size[rank - 1] = w / r;
  const int64_t batch = images(input.shape());
  const TensorHandle parts = permute(reshape(input, Dims{batch, c, h / r, r, w / r, r}), Dims{0, 1, 3, 5, 2, 4});
  return independent(reshape(parts, size));
}
TensorHandle fn::channel_shuffle(const TensorHandle& input, int64_t groups) {
  require(input.rank() >= 3, "expected at least 3 dimensions: got {}", input.shape());
  const int64_t c = input.shape()[1];
  require<ValueError>(groups > 0, "Number of groups to divide channels in must be positive: got {}", groups);
  require<ValueError>(c % groups == 0, "the number of channels must be divisible by groups: got {} and {}", c, groups);
  Dims split{input.shape()[0], groups, c / groups};
  for (int i = 2; i < input.rank(); ++i) split.push_back(input.shape()[i]);
  return independent(reshape(transpose(reshape(input, split), 1, 2), input.shape()));
}

void register_interpolate(OpTable& table) {
  table.add({&op::resize_axis, &op::resize_axis_input});
  table.add(functions);
}

}  // namespace pyburn
