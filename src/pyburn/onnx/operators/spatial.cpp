// Pictures that are sampled, cut and put together.
#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/grid_sample.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unfold.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

Results grid_sample(Call& c) {
  std::string mode = c.text("mode", c.opset() < 20 ? "bilinear" : "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  return fn::grid_sample(c.input(0), c.input(1), mode, c.text("padding_mode", "zeros"), c.flag("align_corners"));
}

Results affine_grid(Call& c) { return fn::affine_grid(c.input(0), c.dims_of("", 1), c.flag("align_corners")); }

// The sum of blocks at their places. The core knows pictures; more or fewer axes are added in turn.
Results col2im(Call& c) {
  const TensorHandle x = c.input(0);
  const Dims size = c.dims_of("", 1), block = c.dims_of("", 2);
  const int n = int(size.size());
  const Dims dilation = c.integers("dilations", Dims(n, 1)), stride = c.integers("strides", Dims(n, 1)),
             pads = c.integers("pads", Dims(2 * n, 0));
  require<FormatError>(n >= 1 && block.size() == n && dilation.size() == n && stride.size() == n && pads.size() == 2 * n,
      "[col2im] every list must have a number for each axis");
  require(x.rank() == 3, "[col2im] expected (N, C * block, L): got {}", x.shape());
  int64_t in_block = 1;
  Dims counts;  // of blocks along each axis
  Dims whole;   // the picture with its border
  for (int i = 0; i < n; ++i) {
    require<ValueError>(block[i] > 0 && stride[i] > 0 && dilation[i] > 0, "[col2im] block, strides and dilations must be positive");
    in_block = Checked(in_block) * block[i];
    whole.push_back(Checked(size[i]) + pads[i] + pads[i + n]);
    counts.push_back((Checked(whole[i]) - Checked(dilation[i]) * (block[i] - 1) - 1) / stride[i] + 1);
  }
  require(x.shape()[1] % in_block == 0, "[col2im] {} channels are not blocks of {}", x.shape()[1], in_block);
  // One axis at a time: (outer, block, count, inner) becomes (outer, whole, inner).
  const int64_t batch = x.shape()[0], channels = x.shape()[1] / in_block;
  Dims shape{batch, channels};
  for (const int64_t b : block) shape.push_back(b);
  for (const int64_t k : counts) shape.push_back(k);
  TensorHandle y = fn::reshape(x, shape);  // (N, C, b1.. bn, k1.. kn)
  for (int i = n - 1; i >= 0; --i) {
    // (.., block_i, whole.., places.., places_i): the block moves beside its places; the core folds columns of a picture of one row.
    y = fn::movedim(y, {2 + i}, {-1});  // the places of this axis are the last but one now
    y = fn::transpose(y, -1, -2);
    const Shape before = y.shape();
    const TensorHandle columns = fn::reshape(y, {-1, block[i], counts[i]});
    const TensorHandle line =
        fn::col2im(columns, {1, whole[i]}, {1, block[i]}, {1, dilation[i]}, {0, 0}, {1, stride[i]});  // (M, 1, 1, whole)
    Dims after(std::span<const int64_t>(before.data(), size_t(before.rank() - 2)));
    after.push_back(whole[i]);
    y = fn::reshape(line, after);
    y = fn::movedim(y, {-1}, {2 + i});
    // now (N, C, b1.. b(i-1), whole_i, whole_(i+1).., k1.. k(i-1))
  }
  Dims cut;
  for (int i = n - 1; i >= 0; --i) cut.push_back(-pads[i]), cut.push_back(-pads[i + n]);
  return fn::constant_pad_nd(y, cut, 0.0);
}

// Cut or padded to the size, in the middle.
Results center_crop_pad(Call& c) {
  TensorHandle x = c.input(0);
  const Dims size = c.dims_of("", 1);
  Dims axes;
  if (const OptionalDims given = c.integers("axes")) axes = *given;
  else
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  require<FormatError>(
      axes.size() == size.size(), "[center_crop_pad] the shape must have a number for each axis: got {} for {}", size, axes);
  Dims border(2 * x.rank(), 0);
  for (int64_t i = 0; i < axes.size(); ++i) {
    const int axis = normalise_dim(axes[i], x.rank());
    const int64_t n = x.shape()[axis], missing = Checked(size[i]) - n;
    const int64_t before = missing >= 0 ? missing / 2 : -(-missing / 2);
    border[2 * (x.rank() - 1 - axis)] = before, border[2 * (x.rank() - 1 - axis) + 1] = missing - before;
  }
  return fn::constant_pad_nd(x, border, is_floating(x.dtype()) ? Scalar(0.0) : Scalar(0));
}

constexpr Operator kRows[] = {
    {"", "GridSample", 16, grid_sample},
    {"com.microsoft", "GridSample", 1, grid_sample},
    {"", "AffineGrid", 20, affine_grid, inputs_at(1)},
    {"", "Col2Im", 18, col2im, inputs_at(1, 2)},
    {"", "CenterCropPad", 18, center_crop_pad, inputs_at(1)},
};

}  // namespace

std::span<const Operator> spatial_operators() { return kRows; }

}  // namespace pyburn::onnx
