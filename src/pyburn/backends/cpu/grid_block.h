// What grid_sample knows about its images, and about a block of places.
#pragma once
#include "pyburn/backends/cpu/sampling_places.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/ops/grid_sample.h"
#include "pyburn/support/checked.h"

namespace pyburn::cpu {

constexpr int64_t kGridBlock = 128;  // places at a time, of one image: a multiple of all vectors' lanes
constexpr int64_t kGridTaps = 64;    // of one place at most: four along each of three axes

// One axis of the images, and how coordinates along it are read.
template <class T>
struct GridAxis {
  Place<T> elements = 0;
  T extent = 0, last = 0, low = 0, high = 0, pace = 0;  // mirrors stand at low and high; pace: elements per unit of the grid
  bool align = false, clip = false, mirror = false;
};

template <class T>
struct GridImage {
  int64_t axes, taps, count = 1, size = 1;  // taps along each axis and in all; elements of a plane
  GridAxis<T> axis[3];                      // the slowest first

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
  bool neighbours[kGridBlock];  // by the first place of a vector: do all of its places have all their elements, those of a row side by
                                // side? side?

  GridBlock(const GridImage<T>& image, bool slopes)
      : count(image.count),
        taps(image.taps),
        with_slopes(slopes),
        places_(count * kGridBlock),
        weights_(count * kGridBlock),
        shares_(slopes ? 2 * image.axes * image.taps * kGridBlock : 0) {}

  // Rows of kGridBlock: of a tap, its elements (-1: outside; of neighbours only the first of each row) and weights; the last axis turns
  // fastest.
  Place<T>* place(int64_t tap) const { return places_.data() + tap * kGridBlock; }
  T* weight(int64_t tap) const { return weights_.data() + tap * kGridBlock; }
  // Of a tap along one axis, how much it counts there, and how fast that changes with the grid.
  T* share(int64_t axis, int64_t tap) const { return shares_.data() + 2 * (axis * taps + tap) * kGridBlock; }
  T* slope(int64_t axis, int64_t tap) const { return share(axis, tap) + kGridBlock; }

 private:
  mutable ScratchBuffer<Place<T>> places_;
  mutable ScratchBuffer<T> weights_, shares_;
};

}  // namespace pyburn::cpu
