// Geometry of the images of grid_sample, and of a block of sampling points.
#pragma once
#include "pyburn/backends/cpu/sampling_places.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/ops/grid_sample.h"
#include "pyburn/support/checked.h"

namespace pyburn::cpu {

constexpr int64_t kGridBlock = 128;  // points processed together, of one image: a multiple of every vector length
constexpr int64_t kGridTaps = 64;    // maximum per point: four along each of three dimensions

// One image dimension, and how its coordinates are interpreted.
template <class T>
struct GridAxis {
  Place<T> elements = 0;
  T extent = 0, last = 0, low = 0, high = 0, pace = 0;  // reflection happens at low and high; pace: elements per unit of the grid
  bool align = false, clip = false, mirror = false;
};

template <class T>
struct GridImage {
  int64_t axes, taps, count = 1, size = 1;  // taps along each dimension and in total; elements of a plane
  GridAxis<T> axis[3];                      // slowest dimension first

  GridImage(const GridSample& a, const Shape& images) : axes(images.rank() - 2), taps(a.per_axis()) {
    for (int64_t i = 0; i < axes; ++i) {
      const auto n = double(images[2 + i]);
      const bool align = a.align_corners;
      axis[i] = {Place<T>(images[2 + i]), T(n), T(n - 1), T(align ? 0 : -0.5), T(align ? n - 1 : n - 0.5), T(align ? (n - 1) / 2 : n / 2),
          align, a.padding_mode != "zeros", a.padding_mode == "reflection"};
      count *= taps, size = Checked(size) * images[2 + i];
    }
  }
};

template <class T>
struct GridBlock {
  int64_t count, taps;
  bool with_slopes;
  bool neighbours[kGridBlock];  // by the first point of a vector: are all elements of all its points inside the image, with the elements of
                                // each row adjacent?

  GridBlock(const GridImage<T>& image, bool slopes)
      : count(image.count),
        taps(image.taps),
        with_slopes(slopes),
        places_(count * kGridBlock),
        weights_(count * kGridBlock),
        shares_(slopes ? 2 * image.axes * image.taps * kGridBlock : 0) {}

  // Rows of kGridBlock: for each tap its element (-1: outside; for neighbours only the first of each row) and weight; the last dimension
  // varies fastest.
  Place<T>* place(int64_t tap) const { return places_.data() + tap * kGridBlock; }
  T* weight(int64_t tap) const { return weights_.data() + tap * kGridBlock; }
  // For each tap along one dimension: its weight, and the derivative of the weight with respect to the grid.
  T* share(int64_t axis, int64_t tap) const { return shares_.data() + 2 * (axis * taps + tap) * kGridBlock; }
  T* slope(int64_t axis, int64_t tap) const { return share(axis, tap) + kGridBlock; }

 private:
  mutable ScratchBuffer<Place<T>> places_;
  mutable ScratchBuffer<T> weights_, shares_;
};

}  // namespace pyburn::cpu
