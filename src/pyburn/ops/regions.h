// Regions of images: non-maximum suppression of boxes, and regions brought to one size.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Nms {
  double iou_threshold = 0.5;
  PB_FIELDS(iou_threshold)
  static Nms from(const TensorHandle&, const TensorHandle&, double iou_threshold) { return {iou_threshold}; }
};

// roi_align: `size` is that of the results (height, width). roi_align_input: that of the images (N, C, H, W).
struct RoiAlign {
  Dims size;
  double spatial_scale = 1;
  int64_t sampling_ratio = -1;  // samples of a bin along each axis; below 1: as many as the bin covers pixels
  bool aligned = false;         // coordinates count from the corner of a pixel, not from its center
  PB_FIELDS(size, spatial_scale, sampling_ratio, aligned)
  static RoiAlign from(
      const TensorHandle&, const TensorHandle&, const Dims& size, double spatial_scale, int64_t sampling_ratio, bool aligned) {
    return {size.size() == 1 ? Dims{size[0], size[0]} : size, spatial_scale, sampling_ratio, aligned};
  }
};

namespace op {
extern OpInfo nms, roi_align, roi_align_input;
}

}  // namespace pyburn
