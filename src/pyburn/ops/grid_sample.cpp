// Images at places that a grid names, written in public operations: each is a weighted sum of the elements around it.
#include "pyburn/ops/grid_sample.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/grid_sample.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/sample_planes.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> Tensor",
        .doc = "input (N, C, H, W) at the places of grid (N, h, w, 2), which are (x, y) between -1 and 1; volumes likewise. mode is "
               "bilinear, nearest or (for images) bicubic, padding_mode (for places outside) zeros, border or reflection.",
        .torch = "torch.nn.functional.grid_sample",
        .example = "pyburn.grid_sample(pyburn.ones(1, 1, 4, 4), pyburn.zeros(1, 2, 2, 2)).shape",
        .samples = R"(
t(1, 2, 4, 5), t(1, 2, 3, 2)
t(1, 1, 4, 5), t(1, 2, 3, 2), 'bilinear', 'border'
t(1, 1, 4, 5), t(1, 2, 3, 2), padding_mode='reflection'
t(1, 1, 4, 5), t(1, 2, 3, 2), 'bilinear', 'reflection', True
t(1, 1, 4, 5), t(1, 2, 3, 2), align_corners=True
t(1, 2, 4, 5), t(1, 2, 3, 2), 'nearest'
t(1, 1, 2, 3, 4), t(1, 2, 1, 2, 3)
t(1, 2, 4, 5), t(1, 2, 3, 2), 'bicubic'
t(1, 1, 4, 5), t(1, 2, 3, 2), 'bicubic', 'border', True
t(1, 1, 4, 5), t(1, 2, 3, 2), 'bicubic', 'reflection'
t(1, 1, 4, 5), t(1, 2, 3, 2), 'bicubic', 'reflection', True
t(0, 2, 4, 5), t(0, 2, 3, 2)
t(1, 4, 5, 2).permute(0, 3, 1, 2), t(1, 2, 3, 2)
t(1, 1, 4, 5).expand(1, 2, 4, 5), t(1, 2, 3, 2)
t(1, 1, 4, 5, dtype=f64), t(1, 2, 3, 2, dtype=f64)
t(), t(1, 2, 3, 2) ! axes
t(1, 1, 4, 5), t(1, 2, 3, 3) ! coordinates
t(1, 1, 2, 3, 4), t(1, 2, 1, 2, 3), 'bicubic'
t(1, 1, 4, 5), t(1, 2, 3, 2), 'cubic' ! mode)"},
    {.schema = "affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
        .doc =
            "The grid for grid_sample that maps images of the given size (N, C, H, W) by the matrices theta (N, 2, 3); volumes likewise.",
        .torch = "torch.nn.functional.affine_grid",
        .example = "pyburn.affine_grid(pyburn.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 2, 2)).shape",
        .samples = R"(
t(2, 2, 3), (2, 1, 3, 4)
t(2, 2, 3), (2, 1, 3, 4), True
t(1, 3, 4), (1, 1, 2, 3, 2), align_corners=False
t(2, 3, 2).transpose(1, 2), (2, 1, 3, 4)
t(1, 2, 3).expand(2, 2, 3), (2, 1, 3, 1)
t(), (2, 1, 3, 4) ! theta
t(0, 2, 3), (2, 1, 3, 4) ! theta)"},
};

// x kept between low and high, without a gradient at the ends.
TensorHandle clipped(const TensorHandle& x, double low, double high) { return where(le(x, low), low, where(ge(x, high), high, x)); }
// x mirrored at low and high until it lies between them.
TensorHandle reflected(const TensorHandle& x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return x * 0.0;
  const TensorHandle distance = abs(x - low), turns = floor(distance / span), rest = distance - turns * span;
  const TensorHandle odd = eq(turns - floor(turns / 2.0) * 2.0, 1.0);
  return where(odd, high - rest, rest + low);
}

// The coordinate along an axis of `extent` elements, in elements.
TensorHandle position(const TensorHandle& grid, int64_t extent, bool align_corners) {
  const double n = double(extent);
  return align_corners ? (grid + 1.0) * ((n - 1) / 2) : ((grid + 1.0) * n - 1.0) / 2.0;
}
// Coordinates outside, moved inside as the padding mode says.
TensorHandle padded(TensorHandle x, int64_t extent, const std::string& padding_mode, bool align_corners) {
  const double n = double(extent), last = n - 1;
  if (padding_mode == "reflection") x = align_corners ? reflected(x, 0, last) : reflected(x, -0.5, n - 0.5);
  return padding_mode == "zeros" ? x : clipped(x, 0, last);
}
// How much the elements at -1, 0, 1 and 2 count for a place `x` after 0: cubic pieces with slope -0.75 at distance 1.
Tensors cubic_shares(const TensorHandle& x) {
  constexpr double a = -0.75;
  auto near = [](const TensorHandle& d) { return ((d * (a + 2) - (a + 3)) * d) * d + 1.0; };
  auto far = [](const TensorHandle& d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(x + 1.0), near(x), near(1.0 - x), far(2.0 - x)};
}

// The elements around a place along one axis.
struct Tap {
  TensorHandle place, inside, share;
};
SmallVector<Tap, 4> taps_of(
    const TensorHandle& grid, int64_t extent, const std::string& mode, const std::string& padding_mode, bool align) {
  const bool cubic = mode == "bicubic";
  const TensorHandle free = position(grid, extent, align), at = cubic ? free : padded(free, extent, padding_mode, align);
  SmallVector<Tap, 4> taps;
  auto add = [&](TensorHandle x, const TensorHandle& share) {
    if (cubic) x = padded(x, extent, padding_mode, align);
    taps.push_back({cast(x, DType::int64), where(ge(x, 0.0), le(x, double(extent - 1)), false), share});
  };
  if (mode == "nearest") {  // the one share is 1; in this form the gradient of the grid is 0
    add(round(at), floor(at) * 0.0 + 1.0);
    return taps;
  }
  const TensorHandle lower = floor(at), fraction = at - lower;
  const Tensors shares = cubic ? cubic_shares(fraction) : Tensors{1.0 - fraction, fraction};
  const TensorHandle first = detach(lower);
  for (int64_t k = 0; k < shares.size(); ++k) add(first + double(k - (cubic ? 1 : 0)), shares[k]);
  return taps;
}

void check(const GridTaps& a) {
  const std::string &mode = a.mode, &padding_mode = a.padding_mode;
  require<ValueError>(mode == "bilinear" || mode == "nearest" || mode == "bicubic", "mode is bilinear, nearest or bicubic: got '{}'", mode);
  require<ValueError>(padding_mode == "zeros" || padding_mode == "border" || padding_mode == "reflection",
      "padding_mode is zeros, border or reflection: got '{}'", padding_mode);
  for (int64_t n : a.extents) require(n > 0, "expected extents of at least 1: got {}", a.extents);
}
MetaList infer_taps(const GridTaps& a, Metas in) {
  const Shape& g = in[0].shape;
  check(a);
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  require((a.extents.size() == 2 || a.extents.size() == 3) && g.rank() == 3 && g[2] == a.extents.size(),
      "expected places (N, M, 2) in images or (N, M, 3) in volumes: got {} for {}", g, a.extents);
  const Shape taps{g[0], a.count(), g[1]};
  return {{taps, DType::int64}, {taps, in[0].dtype}};
}
Tensors decompose_taps(const GridTaps& a, Inputs in) {
  const TensorHandle& grid = *in[0];
  const int64_t axes = a.extents.size();
  SmallVector<SmallVector<Tap, 4>, 3> taps;
  for (int64_t i = 0; i < axes; ++i)  // the last coordinate belongs to the first axis
    taps.push_back(taps_of(select(grid, 2, axes - 1 - i), a.extents[i], a.mode, a.padding_mode, a.align_corners));
  Tensors places, weights;
  for (int64_t c = 0; c < a.count(); ++c) {
    TensorHandle index, inside, weight;
    for (int64_t i = 0, rest = c; i < axes; rest /= taps[i].size(), ++i) {
      const Tap& tap = taps[i][rest % taps[i].size()];
      index = i == 0 ? tap.place : index * a.extents[i] + tap.place;
      inside = i == 0 ? tap.inside : where(inside, tap.inside, false);
      weight = i == 0 ? tap.share : weight * tap.share;
    }
    places.push_back(where(inside, index, -1));
    weights.push_back(weight);
  }
  return {stack(places, 1), stack(weights, 1)};
}

}  // namespace

namespace op {
constinit OpInfo grid_taps = define<GridTaps, infer_taps, nullptr, decompose_taps>(
    {.schema = "grid_taps(Tensor grid, int[] extents, str mode, str padding_mode, bool align_corners) -> (Tensor places, Tensor weight)",
        .doc = "For places (N, M, 2 or 3) as grid_sample's: the elements around each in an image of these extents, -1 where there is none, "
               "and "
               "how much they count; both (N, K, M).",
        .no_grad = "decomposes into operations on coordinates",
        .torch = "torch_grid_taps",
        .example = "pyburn.grid_taps(pyburn.zeros(1, 1, 2), (4, 4), 'bilinear', 'zeros', False)",
        .samples = R"(
t(1, 6, 2), (4, 5), 'bilinear', 'zeros', False
t(2, 6, 2), (4, 5), 'bilinear', 'border', True
t(1, 6, 2), (4, 5), 'bicubic', 'reflection', False
t(1, 6, 2), (4, 5), 'bicubic', 'reflection', True
t(1, 6, 2), (4, 5), 'nearest', 'zeros', False
t(1, 6, 3), (2, 3, 4), 'bilinear', 'zeros', True
t(0, 6, 2), (4, 5), 'bilinear', 'zeros', False
t(1, 2, 6).transpose(1, 2), (4, 5), 'bilinear', 'zeros', False
t(1, 1, 2).expand(2, 6, 2), (4, 5), 'bilinear', 'zeros', False
t(1, 6, 2, dtype=f64), (4, 5), 'bilinear', 'zeros', False
t(), (4, 5), 'bilinear', 'zeros', False ! places
t(1, 6, 2), (4, 0), 'bilinear', 'zeros', False ! extents)"});
}  // namespace op

TensorHandle fn::grid_sample(const TensorHandle& input, const TensorHandle& grid, const std::string& mode, const std::string& padding_mode,
    std::optional<bool> align_corners) {
  const int axes = input.rank() - 2;
  const Shape &x = input.shape(), &g = grid.shape();
  require((axes == 2 || axes == 3) && g.rank() == input.rank(), "expected 4 or 5 axes of both: got {} and {}", x, g);
  require(g[0] == x[0] && g.back() == axes, "expected as many grids as images, with {} coordinates: got {} for {}", axes, g, x);
  require<DTypeError>(is_floating(input.dtype()) && input.dtype() == grid.dtype(), "expected one floating dtype: got {} and {}",
      input.dtype(), grid.dtype());
  Dims extents, result{x[0], x[1]};
  int64_t plane = 1, results = 1;
  for (int i = 0; i < axes; ++i) {
    extents.push_back(x[2 + i]), result.push_back(g[1 + i]);
    plane *= x[2 + i], results *= g[1 + i];
  }
  const auto [places, weight] = grid_taps(reshape(grid, {x[0], results, axes}), extents, mode, padding_mode, align_corners.value_or(false));
  return reshape(sample_planes(reshape(input, {x[0], x[1], plane}), places, weight), result);
}

TensorHandle fn::affine_grid(const TensorHandle& theta, const Dims& size, std::optional<bool> align_corners) {
  const int64_t axes = size.size() - 2;
  require<ValueError>(axes == 2 || axes == 3, "expected a size of 4 or 5 numbers: got {}", size);
  require(theta.shape() == Shape{size[0], axes, axes + 1}, "theta does not fit the size: got {} for {}", theta.shape(), size);
  require<DTypeError>(is_floating(theta.dtype()), "expected a floating dtype: got {}", theta.dtype());
  // Column j of theta, for all places.
  auto column = [&](int64_t j) {
    Dims shape(axes + 2, 1);
    shape[0] = size[0], shape[axes + 1] = axes;
    return reshape(select(theta, 2, j), shape);
  };
  Dims all{size[0]};
  all.append(size.begin() + 2, size.end());
  all.push_back(axes);
  TensorHandle grid = expand(column(axes), all);
  for (int64_t j = 0; j < axes; ++j) {
    const int64_t axis = axes - 1 - j, n = size[2 + axis];
    const TensorHandle i = arange(0, n, 1, theta.dtype(), &theta.device());
    const TensorHandle at =
        align_corners.value_or(false) ? (n > 1 ? i * (2.0 / double(n - 1)) - 1.0 : i * 0.0) : (i * 2.0 + 1.0) / double(n) - 1.0;
    Dims along(axes + 2, 1);
    along[1 + axis] = n;
    grid = grid + reshape(at, along) * column(j);
  }
  return grid;
}

void register_grid_sample(OpTable& table) {
  table.add({&op::grid_taps});
  table.add(functions);
}

}  // namespace pyburn
