// Sampling of images at the positions of a grid, and its gradients.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct GridSample {
  std::string mode, padding_mode;
  bool align_corners = false;
  Dims extents;  // size of the images for grid_sample_input; else none
  PB_FIELDS(mode, padding_mode, align_corners, extents)
  static GridSample from(const TensorHandle&, const TensorHandle&, const std::string& mode, const std::string& padding_mode,
      std::optional<bool> align_corners) {
    return {mode, padding_mode, align_corners.value_or(false), {}};
  }
  static GridSample from(const TensorHandle&, const TensorHandle&, const Dims& extents, const std::string& mode,
      const std::string& padding_mode, bool align_corners) {
    return {mode, padding_mode, align_corners, extents};
  }
  static GridSample from(const TensorHandle&, const TensorHandle&, const TensorHandle&, const std::string& mode,
      const std::string& padding_mode, bool align_corners) {
    return {mode, padding_mode, align_corners, {}};
  }
  int64_t per_axis() const { return mode == "nearest" ? 1 : mode == "bilinear" ? 2 : 4; }  // elements that contribute to a position
};

namespace op {
extern OpInfo grid_sample, grid_sample_input, grid_sample_grid;
}

}  // namespace pyburn
