#include "pyburn/onnx/operators/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}
double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

}  // namespace

double ResizeAxis::source(int64_t o) const {
  const double x = double(o), in = double(input), out = double(output);
  if (transform == "half_pixel") return (x + 0.5) / scale - 0.5;
  if (transform == "pytorch_half_pixel") return output > 1 ? (x + 0.5) / scale - 0.5 : 0;
  if (transform == "asymmetric") return x / scale;
  // By the size as it was rounded, as PyTorch and ONNX Runtime do; the formula of the standard has scale * input.
  if (transform == "align_corners") return output > 1 ? x * (in - 1) / (out - 1) : 0;
  if (transform == "half_pixel_symmetric") {
    const double wanted = scale * in;  // out is this, rounded down
    return in / 2 * (1 - out / wanted) + (x + 0.5) / scale - 0.5;
  }
  if (transform == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
  if (transform == "tf_crop_and_resize")
    return output > 1 ? roi_start * (in - 1) + x * (roi_end - roi_start) * (in - 1) / (out - 1) : 0.5 * (roi_start + roi_end) * (in - 1);
  fail<FormatError>("[resize] no such coordinate_transformation_mode: got '{}'", transform);
}

bool ResizeAxis::is_outside(int64_t o) const {
  const double x = source(o);
  return transform == "tf_crop_and_resize" && (x < 0 || x > double(input - 1));
}

std::vector<int64_t> ResizeAxis::nearest() const {
  std::vector<int64_t> places;
  for (int64_t o = 0; o < output; ++o) {
    const double x = source(o);
    double at = x;
    if (rounding == "floor") at = std::floor(x);
    else if (rounding == "ceil") at = std::ceil(x);
    else if (rounding == "round_prefer_floor") at = x == std::floor(x) + 0.5 ? std::floor(x) : std::round(x);
    else if (rounding == "round_prefer_ceil") at = std::floor(x + 0.5);
    else fail<FormatError>("[resize] no such nearest_mode: got '{}'", rounding);
    places.push_back(std::clamp<int64_t>(int64_t(at), 0, input - 1));
  }
  return places;
}

std::vector<float> ResizeAxis::weights() const {
  std::vector<float> matrix(size_t(output) * size_t(input), 0.0f);
  const bool is_cubic = mode == "cubic";
  // Antialiasing widens the filter, so that every input counts when the result is smaller.
  const double squeeze = antialias && scale < 1 ? scale : 1;
  const double reach = (is_cubic ? 2 : 1) / squeeze;
  for (int64_t o = 0; o < output; ++o) {
    const double x = source(o);
    const int64_t first = int64_t(std::floor(x - reach)) + 1, last = int64_t(std::ceil(x + reach)) - 1;
    double sum = 0;
    std::vector<double> row;
    for (int64_t i = first; i <= last; ++i) {
      const double w = is_cubic ? cubic((double(i) - x) * squeeze, cubic_a) : triangle((double(i) - x) * squeeze);
      row.push_back(exclude_outside && (i < 0 || i >= input) ? 0 : w);
      sum += row.back();
    }
    for (int64_t i = first; i <= last; ++i) {  // beyond the border lies its last element
      float& place = matrix[size_t(o) * size_t(input) + size_t(std::clamp<int64_t>(i, 0, input - 1))];
      place += float(row[size_t(i - first)] / (sum == 0 ? 1 : sum));
    }
  }
  return matrix;
}

}  // namespace pyburn::onnx
