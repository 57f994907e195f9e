#include "pyburn/ops/grid_taps.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/sample_planes.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

// x kept between low and high, without a gradient at the ends.
TensorHandle clipped(const TensorHandle& x, double low, double high) { return where(le(x, low), low, where(ge(x, high), high, x)); }
// x reflected at low and high, if they differ, until it is between them; and where its direction is then reversed.
struct Mirrored {
  TensorHandle x, odd;
};
Mirrored mirrored(const TensorHandle& x, double low, double high) {
  const double span = high - low;
  const TensorHandle distance = abs(x - low), turns = floor(distance / span), rest = distance - turns * span;
  const TensorHandle odd = eq(turns - floor(turns / 2.0) * 2.0, 1.0);
  return {where(odd, high - rest, rest + low), odd};
}

// One axis of the images: how coordinates of the grid become elements.
struct Axis {
  const GridSample& a;
  double extent;
  double last() const { return extent - 1; }
  double low() const { return a.align_corners ? 0 : -0.5; }  // reflection points
  double high() const { return a.align_corners ? last() : extent - 0.5; }
  double pace() const { return a.align_corners ? last() / 2 : extent / 2; }  // elements per unit of the grid

  TensorHandle position(const TensorHandle& grid) const {
    return a.align_corners ? (grid + 1.0) * pace() : ((grid + 1.0) * extent - 1.0) / 2.0;
  }
  // Coordinates outside, moved inside as the padding mode says.
  TensorHandle padded(TensorHandle x) const {
    if (a.padding_mode == "reflection") x = high() > low() ? mirrored(x, low(), high()).x : x * 0.0;
    return a.padding_mode == "zeros" ? x : clipped(x, 0, last());
  }
  // How fast padded(x) moves with the grid.
  TensorHandle padded_pace(TensorHandle x) const {
    TensorHandle speed = zeros_like(x) + pace();
    if (a.padding_mode == "zeros") return speed;
    if (a.padding_mode == "reflection" && high() > low()) {
      const Mirrored m = mirrored(x, low(), high());
      speed = where(eq(lt(x, low()), m.odd), speed, -speed);  // turned around twice, or never
      x = m.x;
    }
    return where(le(x, 0.0), 0.0, where(ge(x, last()), 0.0, speed));
  }
};

// How much the elements at -1, 0, 1 and 2 count for a place `x` after 0: cubic pieces with slope -0.75 at distance 1. And how fast that
// changes with x.
constexpr double kCubic = -0.75;
Tensors cubic_shares(const TensorHandle& x) {
  auto near = [](const TensorHandle& d) { return ((d * (kCubic + 2) - (kCubic + 3)) * d) * d + 1.0; };
  auto far = [](const TensorHandle& d) { return ((d * kCubic - 5 * kCubic) * d + 8 * kCubic) * d - 4 * kCubic; };
  return {far(x + 1.0), near(x), near(1.0 - x), far(2.0 - x)};
}
Tensors cubic_slopes(const TensorHandle& x) {
  auto near = [](const TensorHandle& d) { return (d * (3 * (kCubic + 2)) - 2 * (kCubic + 3)) * d; };
  auto far = [](const TensorHandle& d) { return (d * (3 * kCubic) - 10 * kCubic) * d + 8 * kCubic; };
  return {far(x + 1.0), near(x), -near(1.0 - x), -far(2.0 - x)};
}

SmallVector<GridTap, 4> taps_of(const Axis& axis, const TensorHandle& grid, bool with_slopes) {
  const bool cubic = axis.a.mode == "bicubic";
  const TensorHandle free = axis.position(grid), at = cubic ? free : axis.padded(free);
  SmallVector<GridTap, 4> taps;
  auto add = [&](TensorHandle x, const TensorHandle& share, const TensorHandle& slope) {
    if (cubic) x = axis.padded(x);
    taps.push_back({cast(x, DType::int64), where(ge(x, 0.0), le(x, axis.last()), false), share, slope});
  };
  if (axis.a.mode == "nearest") {  // the one share is 1; in this form the gradient of the grid is 0
    add(round(at), floor(at) * 0.0 + 1.0, floor(at) * 0.0);
    return taps;
  }
  const TensorHandle lower = floor(at), fraction = at - lower, first = detach(lower);
  const Tensors shares = cubic ? cubic_shares(fraction) : Tensors{1.0 - fraction, fraction};
  Tensors slopes(shares.size(), {});
  if (with_slopes && cubic) {
    slopes = cubic_slopes(fraction);
    for (TensorHandle& slope : slopes) slope = slope * axis.pace();
  } else if (with_slopes) {
    const TensorHandle pace = axis.padded_pace(free);
    slopes = {-pace, pace};
  }
  for (int64_t k = 0; k < shares.size(); ++k) add(first + double(k - (cubic ? 1 : 0)), shares[k], slopes[k]);
  return taps;
}

}  // namespace

Dims extents_of(const Shape& images) {
  Dims sizes;
  sizes.append(images.begin() + 2, images.end());
  return sizes;
}
Dims places_of(const Shape& grid) {
  Dims sizes;
  sizes.append(grid.begin() + 1, grid.end() - 1);
  return sizes;
}
Shape images_of(const Shape& like, const Dims& extents) {
  Shape all{like[0], like[1]};
  all.append(extents.begin(), extents.end());
  return all;
}

GridTaps::GridTaps(const GridSample& a, const TensorHandle& grid, const Dims& extents, bool with_slopes) : grid_(grid.shape()) {
  const int64_t axes = extents.size();
  for (int64_t n : extents) plane_ *= n;
  for (int64_t n : places_of(grid_)) results_ *= n;
  const TensorHandle flat = reshape(grid, {grid_[0], results_, axes});
  for (int64_t i = 0; i < axes; ++i)  // the last coordinate belongs to the first axis
    taps_.push_back(taps_of({a, double(extents[i])}, select(flat, 2, axes - 1 - i), with_slopes));
  Tensors places, weights;
  for (int64_t c = 0; c < combinations(); ++c) {
    TensorHandle index, inside;
    for (int64_t i = 0; i < axes; ++i) {
      const GridTap& tap = tap_of(c, i);
      index = i == 0 ? tap.place : index * extents[i] + tap.place;  // fits: places of elements
      inside = i == 0 ? tap.inside : where(inside, tap.inside, false);
    }
    places.push_back(where(inside, index, -1));
    weights.push_back(weight(c, -1));
  }
  places_ = stack(places, 1), weights_ = stack(weights, 1);
}

TensorHandle GridTaps::sample(const TensorHandle& x) const {
  return reshape(sample_planes(as_planes(x, plane_), places_, weights_), images_of(x.shape(), places_of(grid_)));
}
TensorHandle GridTaps::input(const TensorHandle& dy, const Dims& extents) const {
  return reshape(sample_planes_input(as_planes(dy, results_), places_, weights_, plane_), images_of(dy.shape(), extents));
}
TensorHandle GridTaps::grid(const TensorHandle& dy, const TensorHandle& x) const {
  const TensorHandle by_tap = sample_planes_weight(as_planes(dy, results_), as_planes(x, plane_), places_);
  Tensors coordinates;
  for (int64_t i = taps_.size() - 1; i >= 0; --i) {
    TensorHandle sum;
    for (int64_t c = 0; c < combinations(); ++c) {
      const TensorHandle part = select(by_tap, 1, c) * weight(c, i);
      sum = c == 0 ? part : sum + part;
    }
    coordinates.push_back(sum);
  }
  return reshape(stack(coordinates, 2), grid_);
}

int64_t GridTaps::combinations() const {
  int64_t n = 1;
  for (const auto& axis : taps_) n *= axis.size();
  return n;
}
const GridTap& GridTaps::tap_of(int64_t combination, int64_t axis) const {
  for (int64_t i = 0; i < axis; ++i) combination /= taps_[i].size();
  return taps_[axis][combination % taps_[axis].size()];
}
// Of one combination; or how fast it changes with the coordinate of one axis.
TensorHandle GridTaps::weight(int64_t combination, int64_t moving) const {
  TensorHandle product;
  for (int64_t i = 0; i < taps_.size(); ++i) {
    const GridTap& tap = tap_of(combination, i);
    const TensorHandle& factor = i == moving ? tap.slope : tap.share;
    product = i == 0 ? factor : product * factor;
  }
  return product;
}
TensorHandle GridTaps::as_planes(const TensorHandle& x, int64_t size) const { return reshape(x, {x.shape()[0], x.shape()[1], size}); }

}  // namespace pyburn
