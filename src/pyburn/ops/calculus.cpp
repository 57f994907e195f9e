// Integrals and derivatives of sampled functions, polynomials, statistics of rows.
#include "pyburn/ops/generated/calculus.h"

#include <algorithm>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {
namespace {

constexpr const char* kSpaced = R"(
t(2, 5)
t(2, 5), dx=0.5
t(2, 5, 3), dim=1
t(5), dx=2, dim=0
t(0, 5)
t(2, 1)
t(5, 2).T
t(2, 1).expand(2, 4)
t(2, 5, dtype=i64)
t(5, dtype=f64)
t() ! dimension)";
constexpr const char* kPlaced = R"(
t(2, 5), t(5)
t(2, 5), t(2, 5)
t(2, 5, 3), t(5), dim=1
t(5, 3), t(5), dim=0
t(0, 5), t(5)
t(5, 2).T, t(5)
t(1, 5).expand(2, 5), t(5)
t(5, dtype=f64), t(5, dtype=f64)
t(), t(5) ! dimension
t(2, 5), t(4) ! broadcast)";

constinit FunctionInfo functions[] = {
    {.schema = "trapezoid(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
        .doc = "Integrates y along dim with the trapezoidal rule, for samples spaced dx apart.",
        .example = "pyburn.trapezoid(pyburn.tensor([1., 5., 10.]))",
        .samples = kSpaced},
    {.schema = "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        .doc = "Integrates y along dim with the trapezoidal rule, for samples at the coordinates x.",
        .torch = "torch.trapezoid",
        .example = "pyburn.trapezoid(pyburn.tensor([1., 5., 10.]), pyburn.tensor([1., 3., 6.]))",
        .samples = kPlaced},
    {.schema = "cumulative_trapezoid(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
        .doc = "Cumulatively integrates y along dim with the trapezoidal rule, for samples spaced dx apart.",
        .example = "pyburn.cumulative_trapezoid(pyburn.tensor([1., 5., 10.]))",
        .samples = kSpaced},
    {.schema = "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        .doc = "Cumulatively integrates y along dim with the trapezoidal rule, for samples at the coordinates x.",
        .torch = "torch.cumulative_trapezoid",
        .example = "pyburn.cumulative_trapezoid(pyburn.tensor([1., 5., 10.]), pyburn.tensor([1., 3., 6.]))",
        .samples = kPlaced},
    {.schema = "gradient(Tensor input, *, float[]? spacing=None, int[]? dim=None, int edge_order=1) -> Tensor[]",
        .doc = "Estimates derivatives along dim (by default all dimensions) with second-order central differences.",
        .torch = "lambda x, spacing=1, **k: torch.gradient(x, spacing=spacing, **k)",
        .example = "pyburn.gradient(pyburn.tensor([1., 4., 9., 16.]))",
        .samples = R"(
t(5)
t(3, 4)
t(3, 4), spacing=0.5
t(3, 4), spacing=(0.5, 2.0), edge_order=2
t(3, 4), dim=1
t(3, 4, 3), spacing=2.0, dim=(-1, 0), edge_order=2
t(2, 5).T
t(3, 1).expand(3, 4)
t(0, 4), dim=1
t(5, dtype=f64)
t() ! dimension
t(3, 4), spacing=(0.5, 2.0, 1.0) ! spacing
t(3, 2), edge_order=2 ! at least
t(3, 4), edge_order=3 ! edge_order)"},
    {.schema = "gradient.coordinates(Tensor input, *, Tensor[] spacing, int[]? dim=None, int edge_order=1) -> Tensor[]",
        .doc = "Estimates derivatives along dim for samples at the given coordinates, one 1-d tensor per dimension.",
        .torch = "torch.gradient",
        .example = "pyburn.gradient(pyburn.tensor([1., 4., 16.]), spacing=[pyburn.tensor([1., 2., 4.])])",
        .samples = R"(
t(5), spacing=[tensor([1., 2., 4., 5., 7.])]
t(3, 4), spacing=[tensor([1., 2., 4.]), tensor([0., 1., 1.5, 4.])]
t(3, 4), spacing=[tensor([0., 1., 1.5, 4.])], dim=1, edge_order=2
t(4, 3).T, spacing=[tensor([0., 1., 1.5, 4.])], dim=1
t(3, 1).expand(3, 4), spacing=[tensor([0., 1., 1.5, 4.])], dim=1
t(0, 4), spacing=[tensor([0., 1., 1.5, 4.])], dim=1
t(), spacing=[tensor([1.])] ! dimension
t(3, 4), spacing=[tensor([1., 2., 4.])], dim=1 ! spacing)"},
    {.schema = "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
        .doc = "Builds a Vandermonde matrix: row i holds the powers of x[i], highest first unless increasing=True.",
        .torch =
            "lambda x, N=None, increasing=False: (lambda p: p if increasing else p.flip(1))(x.unsqueeze(1) ** torch.arange(len(x) if N "
            "is None else N))",
        .example = "pyburn.vander(pyburn.tensor([1, 2, 3]))",
        .samples = R"(
t(3)
t(3), 2
t(3), N=5, increasing=True
t(3), 0
t(0)
t(6)[::2]
t(1).expand(3)
t(3, dtype=i64)
t(3, dtype=f64)
t() ! vector
t(3), -1 ! negative)"},
    {.schema = "cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
        .doc = "Estimates the covariance matrix of the variables in the rows of input; columns are observations.",
        .example = "pyburn.cov(pyburn.tensor([[0., 1., 2.], [2., 1., 0.]]))",
        .samples = R"(
t(3, 4)
t(3, 4), correction=0
t(1, 4)
t(4)
t()
t(3, 4), fweights=tensor([1, 2, 1, 3])
t(3, 4), aweights=positive(4).constant
t(3, 4), correction=0, fweights=tensor([1, 2, 1, 3]), aweights=positive(4).constant
t(3, 4), fweights=tensor([1, 2, 1, 3]), aweights=positive(4).constant
t(4, 3).T
t(3, 1).expand(3, 4)
t(3, 4, dtype=f64)
t(3, 4, dtype=i64)
t(0, 4)
t(2, 3, 4) ! two dimensions
t(3, 4), fweights=t(4) ! integers
t(3, 4), aweights=t(3) ! observation)"},
    {.schema = "corrcoef(Tensor input) -> Tensor",
        .doc = "Computes the Pearson correlation coefficients of the variables in the rows of input.",
        .example = "pyburn.corrcoef(pyburn.tensor([[0., 1., 2.], [2., 1., 0.]]))",
        .samples = R"(
t(3, 4)
t(4)
t(4, 3).T
t(3, 4, dtype=f64)
t(1, 4).expand(2, 4)
t(2, 0)
t()
t(2, 3, 4) ! two dimensions)"},
};

// The mean of each two neighbours along dim.
TensorHandle widths(const TensorHandle& y, const TensorHandle& x, int axis) {
  if (x.rank() != 1 || y.rank() == 1) return diff(x, 1, x.rank() == y.rank() ? axis : axis - (y.rank() - x.rank()));
  Dims along(y.rank() - axis, 1);
  along[0] = std::max<int64_t>(x.numel() - 1, 0);
  return reshape(diff(x), along);
}
int axis_of(const TensorHandle& y, int64_t dim) {
  require(y.rank() > 0, "expected at least one dimension: got {}", y.shape());
  return normalise_dim(dim, y.rank());
}
TensorHandle neighbours(const TensorHandle& y, int axis) { return slice(y, axis, 1) + slice(y, axis, 0, -1); }

// Three coefficients for samples a and b apart, at the middle one.
TensorHandle derivative(const TensorHandle& y, const TensorHandle& x, int axis, int64_t edge_order) {
  const int64_t n = y.shape()[axis];
  require<ValueError>(n > edge_order, "expected at least {} samples along each dimension: got {}", edge_order + 1, y.shape());
  Dims along(y.rank(), 1);
  along[axis] = -1;
  const TensorHandle gaps = reshape(diff(x), along);
  auto sample = [&](int64_t i) { return narrow(y, axis, i, 1); };
  auto gap = [&](int64_t i) { return narrow(gaps, axis, i, 1); };
  auto edge = [&](int64_t first, int64_t second, int64_t third, int64_t near, int64_t far, double sign) {
    if (edge_order == 1) return (sample(second) - sample(first)) / gap(near) * sign;
    const TensorHandle a = gap(near), b = gap(far);
    return (sample(second) * ((a + b) / (a * b)) - sample(first) * ((a * 2.0 + b) / (a * (a + b))) - sample(third) * (a / (b * (a + b)))) *
           sign;
  };
  Tensors parts{edge(0, 1, 2, 0, 1, 1)};
  if (n > 2) {
    const TensorHandle a = narrow(gaps, axis, 0, n - 2), b = narrow(gaps, axis, 1, n - 2);
    parts.push_back(narrow(y, axis, 2, n - 2) * (a / (b * (a + b))) + narrow(y, axis, 1, n - 2) * ((b - a) / (a * b)) -
                    narrow(y, axis, 0, n - 2) * (b / (a * (a + b))));
  }
  parts.push_back(edge(n - 1, n - 2, n - 3, n - 2, n - 3, -1));
  return cat(parts, axis);
}
TensorHandle cast_if(const TensorHandle& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }
Dims axes_of(const TensorHandle& input, const OptionalDims& dim, int64_t edge_order) {
  require(input.rank() > 0, "expected at least one dimension: got {}", input.shape());
  require<ValueError>(edge_order == 1 || edge_order == 2, "edge_order must be 1 or 2: got {}", edge_order);
  Dims axes;
  if (dim)
    for (int64_t d : *dim) {
      axes.push_back(normalise_dim(d, input.rank()));
      require<ValueError>(std::count(axes.begin(), axes.end(), axes.back()) == 1, "a dimension appears twice: got {}", *dim);
    }
  else
    for (int i = 0; i < input.rank(); ++i) axes.push_back(i);
  return axes;
}

}  // namespace

TensorHandle fn::trapezoid(const TensorHandle& y, const Scalar& dx, int64_t dim) {
  const int axis = axis_of(y, dim);
  return sum(neighbours(y, axis), Dims{axis}) * (dx.to_double() / 2);
}
TensorHandle fn::trapezoid(const TensorHandle& y, const TensorHandle& x, int64_t dim) {
  const int axis = axis_of(y, dim);
  return sum(neighbours(y, axis) * widths(y, x, axis), Dims{axis}) / 2.0;
}
TensorHandle fn::cumulative_trapezoid(const TensorHandle& y, const Scalar& dx, int64_t dim) {
  const int axis = axis_of(y, dim);
  return cumsum(neighbours(y, axis), axis) * (dx.to_double() / 2);
}
TensorHandle fn::cumulative_trapezoid(const TensorHandle& y, const TensorHandle& x, int64_t dim) {
  const int axis = axis_of(y, dim);
  return cumsum(neighbours(y, axis) * widths(y, x, axis), axis) / 2.0;
}

Tensors fn::gradient(const TensorHandle& input, const OptionalNumbers& spacing, const OptionalDims& dim, int64_t edge_order) {
  const Dims axes = axes_of(input, dim, edge_order);
  const int64_t given = spacing ? spacing->size() : 1;
  require<ValueError>(
      given == 1 || given == axes.size(), "expected one spacing, or one for each of {} dimensions: got {}", axes.size(), given);
  Tensors places;
  for (int64_t i = 0; i < axes.size(); ++i) {
    const DType dtype = is_floating(input.dtype()) ? input.dtype() : default_dtype();
    const TensorHandle numbers = arange(0, input.shape()[axes[i]], 1, dtype, &input.device());
    places.push_back(numbers * (spacing ? (*spacing)[given == 1 ? 0 : i] : 1.0));
  }
  return gradient(input, places, axes, edge_order);
}
Tensors fn::gradient(const TensorHandle& input, const Tensors& spacing, const OptionalDims& dim, int64_t edge_order) {
  const Dims axes = axes_of(input, dim, edge_order);
  require<ValueError>(spacing.size() == axes.size(), "expected a spacing for each of {} dimensions: got {}", axes.size(), spacing.size());
  Tensors results;
  for (int64_t i = 0; i < axes.size(); ++i) {
    require(spacing[i].shape() == Shape{input.shape()[axes[i]]}, "spacing must be a vector as long as dimension {}: got {} for {}", axes[i],
        spacing[i].shape(), input.shape());
    results.push_back(derivative(input, spacing[i], int(axes[i]), edge_order));
  }
  return results;
}

TensorHandle fn::vander(const TensorHandle& x, std::optional<int64_t> N, bool increasing) {
  require(x.rank() == 1, "expected a vector: got {}", x.shape());
  const int64_t n = x.numel(), columns = N.value_or(n);
  require<ValueError>(columns >= 0, "N must not be negative: got {}", columns);
  const TensorHandle one = full(Dims{n, std::min<int64_t>(columns, 1)}, 1, x.dtype(), &x.device());
  if (columns <= 1) return one;
  const TensorHandle powers = cumprod(cat({one, expand(unsqueeze(x, 1), Dims{n, columns - 1})}, 1), 1);
  return increasing ? powers : flip(powers, Dims{1});
}

TensorHandle fn::cov(const TensorHandle& input, int64_t correction, const TensorHandle& fweights, const TensorHandle& aweights) {
  require(input.rank() <= 2, "expected at most two dimensions: got {}", input.shape());
  require<DTypeError>(input.dtype() != DType::boolean, "not defined for bool: got {}", input.shape());
  const TensorHandle rows = input.rank() == 2 ? input : reshape(input, Dims{1, -1});
  TensorHandle x = is_floating(rows.dtype()) ? rows : cast(rows, default_dtype());
  if (aweights.defined() && is_floating(aweights.dtype())) x = cast_if(x, promote(x.dtype(), aweights.dtype()));
  const int64_t observations = x.shape()[1];
  TensorHandle weight;
  for (const TensorHandle* w : {&fweights, &aweights}) {
    if (!w->defined()) continue;
    require(w->shape() == Shape{observations}, "expected one weight per observation: got {} for {}", w->shape(), input.shape());
    require<DTypeError>(
        is_floating(w->dtype()) == (w == &aweights), "fweights must be integers and aweights floating point: got {}", w->dtype());
    require<ValueError>(observations == 0 || read_number(amin(detach(*w))) >= 0, "weights must not be negative");
    weight = weight.defined() ? weight * *w : *w;
  }
  auto finished = [&](const TensorHandle& c) { return c.numel() == 1 ? reshape(c, Dims{}) : c; };
  if (!weight.defined()) {
    const TensorHandle centred = x - mean(x, Dims{1}, true);
    return finished(matmul(centred, transpose(centred, 0, 1)) / std::max(double(observations) - double(correction), 0.0));
  }
  weight = cast(weight, x.dtype());
  const TensorHandle total = sum(weight), centred = x - unsqueeze(sum(x * weight, Dims{1}) / total, 1);
  TensorHandle norm = total;
  if (correction != 0)
    norm = total - (aweights.defined() ? sum(weight * cast_if(aweights, x.dtype())) / total * double(correction)
                                       : full(Dims{}, double(correction), x.dtype(), &x.device()));
  return finished(matmul(centred * weight, transpose(centred, 0, 1)) / maximum(norm, 0.0));
}
TensorHandle fn::corrcoef(const TensorHandle& input) {
  const TensorHandle c = cov(input);
  if (c.rank() == 0) return c / c;
  const TensorHandle deviations = sqrt(diagonal(c));
  return clamp(c / unsqueeze(deviations, 1) / unsqueeze(deviations, 0), -1, 1);
}

void register_calculus(OpTable& table) { table.add(functions); }

}  // namespace pyburn
