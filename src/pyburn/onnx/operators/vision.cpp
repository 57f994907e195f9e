// Images: sampling, regions, boxes, deformable convolutions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/nn/deform_conv.h"
#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/onnx/operators/windows.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/grid_sample.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/regions.h"
#include "pyburn/ops/generated/unfold.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

TensorHandle to(const TensorHandle& x, DType dtype) { return x.dtype() == dtype ? x : fn::cast(x, dtype); }

Results grid_sample(Call& c) {
  const TensorHandle x = c.input(0), grid = c.input(1);
  std::string mode = c.text("mode", "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  return fn::grid_sample(x, to(grid, x.dtype()), mode, c.text("padding_mode", "zeros"), c.flag("align_corners"));
}
Results affine_grid(Call& c) { return fn::affine_grid(c.input(0), *c.integers_of("size", 1), c.flag("align_corners")); }

// --- boxes ---

// Corners (y1, x1, y2, x2), whichever of them the file names, or centers with sizes.
TensorHandle corners(const TensorHandle& boxes, bool from_center) {
  const TensorHandle a = fn::slice(boxes, -1, 0, 2), b = fn::slice(boxes, -1, 2, 4);
  if (from_center) return fn::cat({a - b * 0.5, a + b * 0.5}, -1);
  return fn::cat({fn::minimum(a, b), fn::maximum(a, b)}, -1);
}
Results non_max_suppression(Call& c) {
  const TensorHandle given = c.input(0), scores = c.input(1);
  require(given.rank() == 3 && given.shape()[2] == 4 && scores.rank() == 3 && scores.shape()[0] == given.shape()[0] &&
              scores.shape()[2] == given.shape()[1],
      "[non_max_suppression] expected boxes (batch, N, 4) and scores (batch, classes, N): got {} and {}", given.shape(), scores.shape());
  const int64_t most = c.has_input(2) ? c.read_integer(2) : 0;
  const double overlap = c.has_input(3) ? c.read_number(3) : 0;
  const TensorHandle boxes = corners(given, c.flag("center_point_box"));
  Tensors found;
  for (int64_t n = 0; most > 0 && n < given.shape()[0]; ++n)
    for (int64_t k = 0; k < scores.shape()[1]; ++k) {
      TensorHandle score = fn::select(fn::select(scores, 0, n), 0, k), box = fn::select(boxes, 0, n), places;
      if (c.has_input(4)) {
        places = fn::reshape(fn::nonzero(fn::gt(score, c.read_number(4))), {-1});
        score = fn::index_select(score, 0, places), box = fn::index_select(box, 0, places);
      }
      TensorHandle kept = fn::slice(fn::nms(box, score, overlap), 0, 0, most);
      if (places.defined()) kept = fn::index_select(places, 0, kept);
      found.push_back(fn::stack({fn::full_like(kept, n), fn::full_like(kept, k), kept}, 1));
    }
  return found.empty() ? fn::zeros({0, 3}, DType::int64, &given.device()) : fn::cat(found);
}

// --- regions ---

// The four pixels around a sample and how much each counts; none where it lies more than a pixel outside.
struct Corner {
  int64_t place;
  float weight;
};
void add_corners(std::vector<Corner>& all, double y, double x, int64_t height, int64_t width) {
  const bool inside = y >= -1 && y <= double(height) && x >= -1 && x <= double(width);
  const auto along = [](double at, int64_t extent, int64_t& low, int64_t& high) {
    at = std::max(at, 0.0);
    low = std::min(int64_t(at), extent - 1), high = std::min(low + 1, extent - 1);
    return low == high ? 0.0 : at - double(low);
  };
  int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
  const double fy = inside ? along(y, height, y0, y1) : 0, fx = inside ? along(x, width, x0, x1) : 0, on = inside ? 1 : 0;
  all.insert(all.end(), {{y0 * width + x0, float(on * (1 - fy) * (1 - fx))}, {y0 * width + x1, float(on * (1 - fy) * fx)},
                            {y1 * width + x0, float(on * fy * (1 - fx))}, {y1 * width + x1, float(on * fy * fx)}});
}

// mode "max": the largest of the weighted pixels of a bin, as the standard has it. The boxes are read.
TensorHandle largest_of_regions(Call& c, const TensorHandle& x, int64_t rows, int64_t columns, double shift) {
  const std::vector<double> boxes = c.read_numbers(1);
  const std::vector<int64_t> images = c.read_integers(2);
  const int64_t height = x.shape()[2], width = x.shape()[3], ratio = c.integer("sampling_ratio", 0);
  const double scale = c.real("spatial_scale", 1);
  Tensors regions;
  for (size_t k = 0; k < images.size(); ++k) {
    require<IndexError>(images[k] >= 0 && images[k] < x.shape()[0], "[roi_align] no such image: got {} of {}", images[k], x.shape()[0]);
    const double *box = boxes.data() + 4 * k, left = box[0] * scale - shift, top = box[1] * scale - shift;
    double w = box[2] * scale - shift - left, h = box[3] * scale - shift - top;
    if (shift == 0) w = std::max(w, 1.0), h = std::max(h, 1.0);
    const double bin_h = h / double(rows), bin_w = w / double(columns);
    const auto samples = [&](double bin) {
      require<ValueError>(std::abs(bin) < 4096, "[roi_align] a box is too large: got bins of {} pixels", bin);
      return ratio > 0 ? ratio : std::max<int64_t>(1, int64_t(std::ceil(bin)));
    };
    const int64_t ny = samples(bin_h), nx = samples(bin_w);
    std::vector<Corner> all;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t q = 0; q < columns; ++q)
        for (int64_t i = 0; i < ny; ++i)
          for (int64_t j = 0; j < nx; ++j)
            add_corners(all, top + double(r) * bin_h + (double(i) + 0.5) * bin_h / double(ny),
                left + double(q) * bin_w + (double(j) + 0.5) * bin_w / double(nx), height, width);
    std::vector<int64_t> places;
    std::vector<float> weights;
    for (const Corner& corner : all) places.push_back(corner.place), weights.push_back(corner.weight);
    const auto count = int64_t(places.size());
    const TensorHandle pixels = fn::index_select(fn::flatten(fn::select(x, 0, images[k]), 1), 1, integers_on(x.device(), places));
    const TensorHandle weighted = pixels * to(reals_on(x.device(), std::move(weights), {count}), x.dtype());
    regions.push_back(
        fn::reshape(fn::amax(fn::reshape(weighted, {x.shape()[1], rows * columns, -1}), Dims{-1}), {x.shape()[1], rows, columns}));
  }
  return regions.empty() ? fn::zeros({0, x.shape()[1], rows, columns}, x.dtype(), &x.device()) : fn::stack(regions);
}
Results align_regions(Call& c, const char* default_mode) {
  const TensorHandle x = c.input(0), boxes = c.input(1);
  require(x.rank() == 4 && boxes.rank() == 2 && boxes.shape()[1] == 4, "[roi_align] expected X (N, C, H, W) and rois (K, 4): got {} and {}",
      x.shape(), boxes.shape());
  const int64_t rows = c.integer("output_height", 1), columns = c.integer("output_width", 1);
  require<ValueError>(rows > 0 && columns > 0 && rows < 1 << 15 && columns < 1 << 15,
      "[roi_align] the output size must be positive: got {} and {}", rows, columns);
  const bool half = c.text("coordinate_transformation_mode", default_mode) == "half_pixel";
  if (c.text("mode", "avg") == "max") return largest_of_regions(c, x, rows, columns, half ? 0.5 : 0);
  const TensorHandle images = fn::reshape(to(c.input(2), boxes.dtype()), {-1, 1});
  const int64_t ratio = c.integer("sampling_ratio", 0);
  return fn::roi_align(x, fn::cat({images, boxes}, 1), {rows, columns}, c.real("spatial_scale", 1), ratio > 0 ? ratio : -1, half);
}
Results roi_align_10(Call& c) { return align_regions(c, "output_half_pixel"); }
Results roi_align_16(Call& c) { return align_regions(c, "half_pixel"); }

// The largest values of bins of whole pixels; rois are rows (image, x1, y1, x2, y2), which are read.
Results max_roi_pool(Call& c) {
  const TensorHandle x = c.input(0);
  const std::vector<double> boxes = c.read_numbers(1);
  const Dims size = c.integers("pooled_shape", {});
  require(x.rank() == 4 && size.size() == 2 && size[0] > 0 && size[1] > 0 && boxes.size() % 5 == 0,
      "[max_roi_pool] expected X (N, C, H, W), rois (K, 5) and two sizes: got {} and {}", x.shape(), size);
  const double scale = c.real("spatial_scale", 1);
  Tensors regions;
  for (size_t k = 0; k < boxes.size(); k += 5) {
    const auto at = [&](size_t i) {
      require<ValueError>(std::abs(boxes[k + i] * scale) < 1e9, "[max_roi_pool] a box is out of range: got {}", boxes[k + i]);
      return int64_t(std::lround(boxes[k + i] * scale));
    };
    const auto image = int64_t(boxes[k]);
    require<IndexError>(image >= 0 && image < x.shape()[0], "[max_roi_pool] no such image: got {} of {}", image, x.shape()[0]);
    const int64_t start[] = {at(2), at(1)}, length[] = {std::max<int64_t>(at(4) - at(2) + 1, 1), std::max<int64_t>(at(3) - at(1) + 1, 1)};
    const auto edge = [&](int axis, int64_t i, bool up) {
      const double place = double(i) * double(length[axis]) / double(size[axis]);
      return std::clamp<int64_t>(int64_t(up ? std::ceil(place) : std::floor(place)) + start[axis], 0, x.shape()[axis + 2]);
    };
    const TensorHandle picture = fn::select(x, 0, image);
    Tensors bins;
    for (int64_t r = 0; r < size[0]; ++r)
      for (int64_t q = 0; q < size[1]; ++q) {
        const int64_t y0 = edge(0, r, false), y1 = edge(0, r + 1, true), x0 = edge(1, q, false), x1 = edge(1, q + 1, true);
        const bool empty = y1 <= y0 || x1 <= x0;
        bins.push_back(empty ? fn::zeros({x.shape()[1]}, x.dtype(), &x.device())
                             : fn::amax(fn::slice(fn::slice(picture, 1, y0, y1), 2, x0, x1), Dims{1, 2}));
      }
    regions.push_back(fn::reshape(fn::stack(bins, 1), {x.shape()[1], size[0], size[1]}));
  }
  return regions.empty() ? fn::zeros({0, x.shape()[1], size[0], size[1]}, x.dtype(), &x.device()) : fn::stack(regions);
}

// --- convolutions and their parts ---

Results deform_conv(Call& c) {
  TensorHandle x = c.input(0);
  const TensorHandle weight = c.input(1);
  require(x.rank() == 4 && weight.rank() == 4, "[deform_conv] two spatial axes are supported: got {} and {}", x.shape(), weight.shape());
  Windows w = Windows::of(c, x.shape(), {weight.shape()[2], weight.shape()[3]});
  if (!w.is_symmetric()) {
    x = fn::constant_pad_nd(x, w.border(), 0.0);
    w.before = {0, 0};
  }
  return nn::deform_conv2d(x, c.input(2), weight, c.optional_input(3), w.stride, w.before, w.dilation, c.optional_input(4));
}

// Columns back to an image of any number of axes: every element is added where its window took it from.
Results col2im(Call& c) {
  const TensorHandle x = c.input(0);
  const Dims size = *c.integers_of("image_shape", 1), block = *c.integers_of("block_shape", 2);
  const auto n = int(size.size());
  const Dims stride = c.integers("strides", Dims(n, 1)), dilation = c.integers("dilations", Dims(n, 1)),
             pads = c.integers("pads", Dims(2 * n, 0));
  require<FormatError>(n > 0 && block.size() == n && stride.size() == n && dilation.size() == n && pads.size() == 2 * n,
      "[col2im] expected as many numbers for each of {} axes", n);
  int64_t taps = 1, places = 1, all = 1;
  Dims padded, counts;
  for (int i = 0; i < n; ++i) {
    require<ValueError>(size[i] > 0 && block[i] > 0 && stride[i] > 0 && dilation[i] > 0 && pads[i] >= 0 && pads[i + n] >= 0,
        "[col2im] sizes are out of range");
    padded.push_back(Checked(size[i]) + pads[i] + pads[i + n]);
    const int64_t room = padded[i] - (Checked(dilation[i]) * (block[i] - 1) + 1);
    require(room >= 0, "[col2im] the block is larger than the image: got {} for {}", block, size);
    counts.push_back(room / stride[i] + 1);
    taps = Checked(taps) * block[i], places = Checked(places) * counts[i], all = Checked(all) * padded[i];
  }
  require(x.rank() == 3 && x.shape()[1] % taps == 0 && x.shape()[2] == places, "[col2im] expected (N, C * {}, {}): got {}", taps, places,
      x.shape());
  const bool symmetric = std::equal(pads.begin(), pads.begin() + n, pads.begin() + n);
  if (n == 2 && symmetric) return fn::col2im(x, size, block, dilation, {pads[0], pads[1]}, stride);
  std::vector<int64_t> target;
  target.reserve(size_t(taps * places));
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t p = 0; p < places; ++p) {
      int64_t at = 0, step = 1, tap = t, place = p;
      for (int i = n - 1; i >= 0; --i) {
        at += (tap % block[i] * dilation[i] + place % counts[i] * stride[i]) * step;
        step *= padded[i], tap /= block[i], place /= counts[i];
      }
      target.push_back(at);
    }
  const int64_t images = x.shape()[0], channels = x.shape()[1] / taps;
  const TensorHandle zero = fn::zeros({images, channels, all}, x.dtype(), &x.device());
  TensorHandle y = fn::index_add(zero, 2, integers_on(x.device(), target), fn::reshape(x, {images, channels, taps * places}));
  Dims shape{images, channels};
  shape.append(padded.begin(), padded.end());
  y = fn::reshape(y, shape);
  for (int i = 0; i < n; ++i) y = fn::slice(y, i + 2, pads[i], pads[i] + size[i]);
  return y;
}

Results center_crop_pad(Call& c) {
  TensorHandle x = c.input(0);
  const Dims size = *c.integers_of("shape", 1);
  Dims axes = c.integers("axes", {});
  if (!c.has("axes"))
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  require<FormatError>(axes.size() == size.size(), "[center_crop_pad] expected a size for each axis: got {} for {}", size, axes);
  Dims border(2 * x.rank(), 0);
  for (int64_t i = 0; i < axes.size(); ++i) {
    const int axis = normalise_dim(axes[i], x.rank());
    const int64_t had = x.shape()[axis], wanted = size[i];
    require<ValueError>(wanted >= 0, "[center_crop_pad] sizes must not be negative: got {}", size);
    if (wanted < had) x = fn::slice(x, axis, (had - wanted) / 2, (had - wanted) / 2 + wanted);
    const int64_t missing = std::max<int64_t>(wanted - had, 0), place = 2 * (x.rank() - 1 - axis);
    border[place] = missing / 2, border[place + 1] = missing - missing / 2;
  }
  return fn::constant_pad_nd(x, border, 0.0);
}

constexpr Operator kRows[] = {
    {"", "GridSample", 16, grid_sample},
    {"com.microsoft", "GridSample", 1, grid_sample},
    {"", "AffineGrid", 20, affine_grid, inputs_at(1)},
    {"", "NonMaxSuppression", 10, non_max_suppression, inputs_at(2, 3, 4)},
    {"", "RoiAlign", 10, roi_align_10},
    {"", "RoiAlign", 16, roi_align_16},
    {"", "MaxRoiPool", 1, max_roi_pool, inputs_at(1)},
    {"", "DeformConv", 19, deform_conv},
    {"", "Col2Im", 18, col2im, inputs_at(1, 2)},
    {"", "CenterCropPad", 18, center_crop_pad, inputs_at(1)},
};

}  // namespace

std::span<const Operator> vision_operators() { return kRows; }

}  // namespace pyburn::onnx
