// Resizing along one dimension: a sparse matrix; images are resized one dimension after the other.
#pragma once
#include <vector>

#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Resize {
  int64_t dim = 0, input_size = 0, output_size = 0;
  std::string mode = "nearest";  // nearest, nearest-exact, linear, cubic, lanczos
  bool align_corners = false;
  double scale = 0;  // input elements per output element; 0: from the sizes
  bool antialias = false;
  PB_FIELDS(dim, input_size, output_size, mode, align_corners, scale, antialias)
  static Resize from(const TensorHandle& x, int64_t dim, int64_t input_size, int64_t output_size, const std::string& mode,
      bool align_corners, double scale, bool antialias) {
    return {normalise_dim(dim, x.rank()), input_size, output_size, mode, align_corners, scale, antialias};
  }
};

// Row o of the matrix: weights[o * width ...] for the inputs from first[o] on, count[o] of them.
struct ResizeTaps {
  int64_t width = 1;
  std::vector<int64_t> first, count;
  std::vector<double> weights;
};
ResizeTaps resize_taps(const Resize& a);

namespace op {
extern OpInfo resize_axis, resize_axis_input;
}

}  // namespace pyburn
