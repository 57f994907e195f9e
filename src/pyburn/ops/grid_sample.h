// The elements around the places that a grid names, and how much each counts.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct GridTaps {
  Dims extents;                    // of the image, in elements
  std::string mode, padding_mode;  // as grid_sample's
  bool align_corners = false;
  PB_FIELDS(extents, mode, padding_mode, align_corners)
  static GridTaps from(
      const TensorHandle&, const Dims& extents, const std::string& mode, const std::string& padding_mode, bool align_corners) {
    return {extents, mode, padding_mode, align_corners};
  }
  int64_t per_axis() const { return mode == "nearest" ? 1 : mode == "bilinear" ? 2 : 4; }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t i = 0; i < extents.size(); ++i) n *= per_axis();
    return n;
  }
};

namespace op {
extern OpInfo grid_taps;
}

}  // namespace pyburn
