// Resizing along one axis, as ONNX defines it: which elements each element of the result is made of, and how much of each.
#pragma once
#include <string>
#include <vector>

namespace pyburn::onnx {

struct ResizeAxis {
  int64_t input = 1, output = 1;
  double scale = 1;              // output elements per input element
  std::string mode = "nearest";  // nearest, linear, cubic
  std::string transform = "half_pixel";
  std::string rounding = "round_prefer_floor";
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
  double roi_start = 0, roi_end = 1;  // for tf_crop_and_resize

  double source(int64_t o) const;        // the place in the input that element o of the result shows
  std::vector<int64_t> nearest() const;  // for each element of the result
  std::vector<float> weights() const;    // a matrix (output, input)
  bool is_outside(int64_t o) const;      // of the input: the result is the extrapolation value
  bool is_identity() const { return input == output && scale == 1 && transform != "tf_crop_and_resize"; }
};

}  // namespace pyburn::onnx
