// Images at places that a grid names: each is a weighted sum of the elements around it.
#include "pyburn/ops/grid_sample.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/grid_sample.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/grid_taps.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check_mode(const GridSample& a) {
  const std::string &mode = a.mode, &padding_mode = a.padding_mode;
  require<ValueError>(mode == "bilinear" || mode == "nearest" || mode == "bicubic",
      "expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{}'", mode);
  require<ValueError>(padding_mode == "zeros" || padding_mode == "border" || padding_mode == "reflection",
      "padding_mode must be 'zeros', 'border' or 'reflection': got '{}'", padding_mode);
}
// `images` are those at the places of the grid, or those that are looked at.
void check_grid(const Meta& images, const Meta& grid) {
  const Shape &x = images.shape, &g = grid.shape;
  const int64_t axes = x.rank() - 2;
  require((axes == 2 || axes == 3) && g.rank() == x.rank(), "expected input and grid with 4 or 5 dimensions: got {} and {}", x, g);
  require(g[0] == x[0] && g.back() == axes, "expected one grid per image, with {} coordinates: got {} for {}", axes, g, x);
  require<DTypeError>(
      is_floating(images.dtype) && images.dtype == grid.dtype, "expected one floating dtype: got {} and {}", images.dtype, grid.dtype);
}
void check_extents(const Dims& extents) {
  for (int64_t n : extents) require(n > 0, "expected sizes of at least 1: got {}", extents);
}
void check_results(const Meta& dy, const Meta& grid) {
  check_grid(dy, grid);
  require(
      dy.shape == images_of(dy.shape, places_of(grid.shape)), "the grid does not match the results: got {} for {}", grid.shape, dy.shape);
}

Meta infer_sample(const GridSample& a, Metas in) {
  check_mode(a);
  check_grid(in[0], in[1]);
  check_extents(extents_of(in[0].shape));
  return {images_of(in[0].shape, places_of(in[1].shape)), in[0].dtype};
}
Meta infer_input(const GridSample& a, Metas in) {
  check_mode(a);
  check_results(in[0], in[1]);
  check_extents(a.extents);
  require(a.extents.size() == in[0].shape.rank() - 2, "expected {} sizes: got {}", in[0].shape.rank() - 2, a.extents);
  return {images_of(in[0].shape, a.extents), in[0].dtype};
}
Meta infer_grid(const GridSample& a, Metas in) {
  check_mode(a);
  check_grid(in[1], in[2]);
  check_extents(extents_of(in[1].shape));
  check_results(in[0], in[2]);
  require(in[0].shape[1] == in[1].shape[1], "the results do not match the images: got {} for {}", in[0].shape, in[1].shape);
  return in[2];
}

TensorHandle decompose_sample(const GridSample& a, Inputs in) { return GridTaps(a, *in[1], extents_of(in[0]->shape())).sample(*in[0]); }
TensorHandle decompose_input(const GridSample& a, Inputs in) { return GridTaps(a, *in[1], a.extents).input(*in[0], a.extents); }
TensorHandle decompose_grid(const GridSample& a, Inputs in) {
  return GridTaps(a, *in[2], extents_of(in[1]->shape()), true).grid(*in[0], *in[1]);
}

// --- gradients: the sum is linear in the images ---

Grads grad_sample(const GridSample& a, const GradContext& c) {
  const TensorHandle x = c.input(0), grid = c.input(1);
  const auto& [mode, padding_mode, align, _] = a;
  return {c.needs(0) ? grid_sample_input(c.dy(), grid, extents_of(c.meta(0).shape), mode, padding_mode, align) : TensorHandle(),
      c.needs(1) ? grid_sample_grid(c.dy(), x, grid, mode, padding_mode, align) : TensorHandle()};
}
Grads grad_input(const GridSample& a, const GradContext& c) {
  const TensorHandle dy = c.input(0), grid = c.input(1);
  const auto& [mode, padding_mode, align, _] = a;
  return {c.needs(0) ? grid_sample(c.dy(), grid, mode, padding_mode, align) : TensorHandle(),
      c.needs(1) ? grid_sample_grid(dy, c.dy(), grid, mode, padding_mode, align) : TensorHandle()};
}

constinit FunctionInfo functions[] = {
    {.schema = "affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
        .doc = "Creates a sampling grid for grid_sample from affine matrices theta: (N, 2, 3) for 2-d and (N, 3, 4) for 3-d.",
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

}  // namespace

namespace op {
constinit OpInfo grid_sample = define<GridSample, infer_sample, grad_sample, decompose_sample>(
    {.schema = "grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> Tensor",
        .doc = "Samples input (N, C, H, W) at the coordinates in grid (N, H_out, W_out, 2), which are (x, y) pairs in [-1, 1]; also 3-d "
               "inputs.",
        .kind = Kind::gather,
        .reads = {{1}, {0, 1}},
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
t(2, 2, 4, 1), unit(2, 5, 7, 2)
t(2, 3, 4, 5), unit(2, 5, 7, 2)
t(1, 2, 4, 5), unit(1, 5, 7, 2), 'bilinear', 'border', True
t(1, 2, 2, 3, 4), unit(1, 2, 3, 4, 3), 'bilinear', 'reflection'
t(1, 2, 2, 3, 4), unit(1, 2, 3, 4, 3), 'nearest', 'border'
t(0, 2, 4, 5), t(0, 2, 3, 2)
t(1, 4, 5, 2).permute(0, 3, 1, 2), t(1, 2, 3, 2)
t(1, 1, 4, 5).expand(1, 2, 4, 5), t(1, 2, 3, 2)
t(1, 1, 4, 5, dtype=f64), t(1, 2, 3, 2, dtype=f64)
t(), t(1, 2, 3, 2) ! dimensions
t(1, 1, 4, 5), t(1, 2, 3, 3) ! coordinates
t(1, 1, 4, 0), t(1, 2, 3, 2) ! sizes
t(1, 1, 2, 3, 4), t(1, 2, 1, 2, 3), 'bicubic'
t(1, 1, 4, 5), t(1, 2, 3, 2), 'cubic' ! mode)"});
constinit OpInfo grid_sample_input = define<GridSample, infer_input, grad_input, decompose_input>(
    {.schema = "grid_sample_input(Tensor input, Tensor grid, int[] extents, str mode, str padding_mode, bool align_corners) -> Tensor",
        .doc = "Computes the gradient of grid_sample with respect to its input.",
        .kind = Kind::gather,
        .reads = {{1}, {0, 1}},
        .torch = "torch_grid_sample_input",
        .example = "pyburn.grid_sample_input(pyburn.ones(1, 1, 1, 1), pyburn.zeros(1, 1, 1, 2), (2, 2), 'bilinear', 'zeros', False)",
        .samples = R"(
t(1, 2, 2, 3), t(1, 2, 3, 2), (4, 5), 'bilinear', 'zeros', False
t(2, 1, 2, 3), unit(2, 2, 3, 2), (4, 5), 'bilinear', 'border', True
t(1, 1, 2, 3), unit(1, 2, 3, 2), (4, 5), 'bicubic', 'reflection', False
t(1, 1, 2, 3), unit(1, 2, 3, 2), (4, 5), 'bicubic', 'zeros', True
t(1, 2, 2, 3), unit(1, 2, 3, 2), (4, 5), 'nearest', 'zeros', False
t(1, 1, 1, 2, 3), unit(1, 1, 2, 3, 3), (2, 3, 4), 'bilinear', 'zeros', True
t(0, 2, 2, 3), t(0, 2, 3, 2), (4, 5), 'bilinear', 'zeros', False
t(1, 2, 3, 2).transpose(2, 3), unit(1, 2, 3, 2), (4, 5), 'bilinear', 'zeros', False
t(1, 1, 2, 3).expand(1, 2, 2, 3), unit(1, 1, 3, 2).expand(1, 2, 3, 2), (4, 5), 'bilinear', 'zeros', False
t(1, 2, 2, 3, dtype=f64), unit(1, 2, 3, 2, dtype=f64), (4, 5), 'bilinear', 'zeros', False
t(), t(1, 2, 3, 2), (4, 5), 'bilinear', 'zeros', False ! dimensions
t(1, 2, 2, 4), t(1, 2, 3, 2), (4, 5), 'bilinear', 'zeros', False ! results
t(1, 2, 2, 3), t(1, 2, 3, 2), (4, 5, 6), 'bilinear', 'zeros', False ! sizes
t(1, 2, 2, 3), t(1, 2, 3, 2), (4, 0), 'bilinear', 'zeros', False ! sizes)"});
constinit OpInfo grid_sample_grid = define<GridSample, infer_grid, nullptr, decompose_grid>(
    {.schema = "grid_sample_grid(Tensor input, Tensor images, Tensor grid, str mode, str padding_mode, bool align_corners) -> Tensor",
        .doc = "Computes the gradient of grid_sample with respect to its grid.",
        .kind = Kind::gather,
        .no_grad = "decomposes into operations on coordinates",
        .torch = "torch_grid_sample_grid",
        .example =
            "pyburn.grid_sample_grid(pyburn.ones(1, 1, 1, 1), pyburn.ones(1, 1, 2, 2), pyburn.zeros(1, 1, 1, 2), 'bilinear', 'zeros', "
            "False)",
        .samples = R"(
t(1, 2, 2, 3), t(1, 2, 4, 5), t(1, 2, 3, 2), 'bilinear', 'zeros', False
t(2, 1, 2, 3), t(2, 1, 4, 5), unit(2, 2, 3, 2), 'bilinear', 'border', True
t(1, 2, 2, 3), t(1, 2, 4, 5), t(1, 2, 3, 2), 'bilinear', 'reflection', False
t(1, 1, 2, 3), t(1, 1, 4, 5), t(1, 2, 3, 2), 'bicubic', 'reflection', False
t(1, 1, 2, 3), t(1, 1, 4, 5), unit(1, 2, 3, 2), 'bicubic', 'zeros', True
t(1, 2, 2, 3), t(1, 2, 4, 5), unit(1, 2, 3, 2), 'nearest', 'zeros', False
t(1, 1, 1, 2, 3), t(1, 1, 2, 3, 4), unit(1, 1, 2, 3, 3), 'bilinear', 'zeros', True
t(0, 2, 2, 3), t(0, 2, 4, 5), t(0, 2, 3, 2), 'bilinear', 'zeros', False
t(1, 2, 3, 2).transpose(2, 3), t(1, 2, 5, 4).transpose(2, 3), unit(1, 2, 3, 2), 'bilinear', 'zeros', False
t(1, 1, 2, 3).expand(1, 2, 2, 3), t(1, 2, 4, 5), unit(1, 1, 3, 2).expand(1, 2, 3, 2), 'bilinear', 'zeros', False
t(1, 2, 2, 3, dtype=f64), t(1, 2, 4, 5, dtype=f64), unit(1, 2, 3, 2, dtype=f64), 'bilinear', 'zeros', False
t(), t(1, 2, 4, 5), t(1, 2, 3, 2), 'bilinear', 'zeros', False ! dimensions
t(1, 3, 2, 3), t(1, 2, 4, 5), t(1, 2, 3, 2), 'bilinear', 'zeros', False ! results)"});
}  // namespace op

TensorHandle fn::affine_grid(const TensorHandle& theta, const Dims& size, std::optional<bool> align_corners) {
  const int64_t axes = size.size() - 2;
  require<ValueError>(axes == 2 || axes == 3, "expected a size of 4 or 5 numbers: got {}", size);
  require(theta.shape() == Shape{size[0], axes, axes + 1}, "theta does not match the size: got {} for {}", theta.shape(), size);
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
  table.add({&op::grid_sample, &op::grid_sample_input, &op::grid_sample_grid});
  table.add(functions);
}

}  // namespace pyburn
