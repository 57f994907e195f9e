// Images: boxes, regions, deformable convolutions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/nn/deform_conv.h"
#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/onnx/operators/image_decoder.h"
#include "pyburn/onnx/operators/windows.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/regions.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

TensorHandle to(const TensorHandle& x, DType dtype) { return x.dtype() == dtype ? x : fn::cast(x, dtype); }

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
  require(boxes.size() == 4 * images.size(), "[roi_align] expected an image for each of {} boxes: got {}", int64_t(boxes.size() / 4),
      int64_t(images.size()));
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

Results image_decoder(Call& c) {
  const std::string pixels = c.text("pixel_format", "RGB");
  require<FormatError>(pixels == "RGB" || pixels == "BGR" || pixels == "Grayscale",
      "[image_decoder] pixel_format must be RGB, BGR or Grayscale: got '{}'", pixels);
  const TensorHandle file = c.input(0);
  require<DTypeError>(file.dtype() == DType::uint8, "[image_decoder] expected the bytes of a file as uint8: got {}", file.dtype());
  require<UnsupportedOp>(decode_image, "[image_decoder] images are decoded by Python's Pillow: this program runs without Python");
  return moved_to(c.device(), decode_image(host_bytes(file), pixels));
}

constexpr Operator kRows[] = {
    {"", "ImageDecoder", 20, image_decoder},
    {"", "NonMaxSuppression", 10, non_max_suppression, inputs_at(2, 3, 4)},
    {"", "RoiAlign", 10, roi_align_10},
    {"", "RoiAlign", 16, roi_align_16},
    {"", "MaxRoiPool", 1, max_roi_pool, inputs_at(1)},
    {"", "DeformConv", 19, deform_conv},
};

}  // namespace

TensorHandle (*decode_image)(std::span<const std::byte>, const std::string&) = nullptr;

std::span<const Operator> vision_operators() { return kRows; }

}  // namespace pyburn::onnx
