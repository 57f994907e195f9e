// Views: another layout on the same storage.
#include "pyburn/ops/movement.h"

#include <algorithm>

#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/part_gradient.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/fault.h"

namespace pyburn {

Shape infer_size(const Dims& size, int64_t numel) {
  Shape shape = size;
  Checked known = 1;
  int64_t free = -1;
  for (int64_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      require(free < 0, "only one dimension can be inferred: got {}", size);
      free = i;
    } else {
      require(shape[i] >= 0, "negative size: got {}", size);
      known *= shape[i];
    }
  }
  if (free >= 0) {
    require(known > 0 && numel % known == 0, "size is invalid for the number of elements: got {} for {} elements", size, numel);
    shape[free] = numel / known;
  } else {
    require(known == numel, "size is invalid for the number of elements: got {} for {} elements", size, numel);
  }
  return shape;
}

// Walks both shapes from the back, splitting x into runs of dimensions that are contiguous in memory.
std::optional<Dims> view_strides(const Layout& x, const Shape& shape) {
  if (x.numel() == 0) return x.shape == shape ? x.strides : contiguous_strides(shape);
  Dims strides(shape.rank(), 1);
  int to = shape.rank() - 1;
  int64_t step = x.rank() ? x.strides[x.rank() - 1] : 1, run = 1, filled = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    run *= x.shape[i];
    const bool ends = i == 0 || (x.shape[i - 1] != 1 && x.strides[i - 1] != run * step);
    if (!ends) continue;
    while (to >= 0 && (filled < run || shape[to] == 1)) {
      strides[to] = filled * step;
      filled *= shape[to--];
    }
    if (filled != run) return {};
    if (i > 0) {
      step = x.strides[i - 1];
      run = filled = 1;
    }
  }
  while (to >= 0) strides[to--] = 1;
  return strides;
}

View View::from(const TensorHandle& x, const Dims& size) { return {infer_size(size, x.numel())}; }

Permute Permute::from(const TensorHandle& x, const Dims& dims) {
  require(dims.size() == x.rank(), "expected {} dimensions: got {}", x.rank(), dims);
  Permute p;
  for (int64_t d : dims) {
    const int n = normalise_dim(d, x.rank());
    require(std::find(p.dims.begin(), p.dims.end(), n) == p.dims.end(), "dimension appears twice: got {}", dims);
    p.dims.push_back(n);
  }
  return p;
}

Slice Slice::from(const TensorHandle& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  require<IndexError>(x.rank() > 0, "slicing requires at least one dimension: got rank 0");
  const int d = normalise_dim(dim, x.rank());
  require<ValueError>(step > 0, "step must be greater than zero: got {}", step);
  const int64_t n = x.shape()[d];
  auto clamp = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t first = clamp(start.value_or(0)), last = std::max(first, clamp(end.value_or(n)));
  if (planted_fault == Fault::rounded_up_slices) return {d, first, int64_t(uint64_t(last - first) + uint64_t(step) - 1) / step, step};
  return {d, first, divide_up(last - first, step), step};
}

Select Select::from(const TensorHandle& x, int64_t dim, int64_t index) {
  require<IndexError>(x.rank() > 0, "selecting requires at least one dimension: got rank 0");
  const int d = normalise_dim(dim, x.rank());
  const int64_t n = x.shape()[d];
  require<IndexError>(index >= -n && index < n, "index {} is out of bounds for dimension {} with size {}", index, d, n);
  return {d, index < 0 ? index + n : index};
}

Expand Expand::from(const TensorHandle& x, const Dims& size) {
  Expand e{size};
  const int64_t extra = size.size() - x.rank();
  require(extra >= 0, "the number of sizes must be at least the rank: got {} for {}", size, x.shape());
  for (int64_t i = 0; i < size.size(); ++i)
    if (size[i] == -1) {
      require(i >= extra, "-1 is not allowed for a new leading dimension: got {}", size);
      e.shape[i] = x.shape()[i - extra];
    }
  return e;
}
InsertAxis InsertAxis::from(const TensorHandle& x, int64_t dim) { return {normalise_dim(dim, x.rank() + 1)}; }
RemoveAxis RemoveAxis::from(const TensorHandle& x, int64_t dim) { return {normalise_dim(dim, x.rank())}; }

namespace {

Layout layout_view(const View& a, const Layout& x) {
  require(checked_numel(a.shape) == x.numel(), "size is invalid: got {} for {}", a.shape, x.shape);
  const std::optional<Dims> strides = view_strides(x, a.shape);
  require(bool(strides), "size is not compatible with the tensor's size and stride; use reshape: got {} for {}", a.shape, x);
  return {a.shape, *strides, x.offset};
}
Layout layout_permute(const Permute& a, const Layout& x) {
  Layout y{Dims(x.rank(), 0), Dims(x.rank(), 0), x.offset};
  Dims sorted = a.dims;
  std::sort(sorted.begin(), sorted.end());
  require(sorted.size() == x.rank(), "expected {} dimensions: got {}", x.rank(), a.dims);
  for (int i = 0; i < x.rank(); ++i) require(sorted[i] == i, "expected each dimension once: got {}", a.dims);
  for (int i = 0; i < x.rank(); ++i) {
    y.shape[i] = x.shape[a.dims[i]];
    y.strides[i] = x.strides[a.dims[i]];
  }
  return y;
}
Layout layout_expand(const Expand& a, const Layout& x) {
  const int extra = a.shape.rank() - x.rank();
  require(extra >= 0, "the number of sizes must be at least the rank: got {} for {}", a.shape, x.shape);
  Layout y{a.shape, Dims(a.shape.rank(), 0), x.offset};
  for (int i = 0; i < a.shape.rank(); ++i) {
    const int64_t n = i >= extra ? x.shape[i - extra] : 1;
    require(
        a.shape[i] == n || n == 1, "the expanded size must match the existing size at dimension {}: got {} for {}", i, a.shape, x.shape);
    y.strides[i] = i >= extra && (n != 1 || a.shape[i] == 1) ? x.strides[i - extra] : 0;
  }
  checked_numel(a.shape);
  return y;
}
Layout layout_slice(const Slice& a, const Layout& x) {
  require<IndexError>(a.dim >= 0 && a.dim < x.rank() && a.start >= 0 && a.start <= x.shape[a.dim] && a.length >= 0 && a.step > 0 &&
                          (a.length == 0 || (a.start < x.shape[a.dim] && a.length - 1 <= (x.shape[a.dim] - 1 - a.start) / a.step)),
      "slice out of range: got {} for {}", a.start, x.shape);
  Layout y = x;
  y.shape[a.dim] = a.length;
  if (a.length > 1) y.strides[a.dim] = Checked(x.strides[a.dim]) * a.step;
  else if (__builtin_mul_overflow(x.strides[a.dim], a.step, &y.strides[a.dim])) y.strides[a.dim] = x.strides[a.dim];  // never walked
  y.offset = x.offset + Checked(a.start) * x.strides[a.dim];
  return y;
}
Layout layout_select(const Select& a, const Layout& x) {
  require<IndexError>(
      a.dim >= 0 && a.dim < x.rank() && a.index >= 0 && a.index < x.shape[a.dim], "index out of range: got {} for {}", a.index, x.shape);
  Layout y = x;
  y.offset = x.offset + Checked(a.index) * x.strides[a.dim];
  y.shape.erase(a.dim);
  y.strides.erase(a.dim);
  return y;
}
Layout layout_unsqueeze(const InsertAxis& a, const Layout& x) {
  require<IndexError>(a.dim >= 0 && a.dim <= x.rank(), "dim out of range: got {} for rank {}", a.dim, x.rank());
  Layout y = x;
  int64_t stride = 1;  // never walked
  if (a.dim < x.rank() && __builtin_mul_overflow(x.shape[a.dim], x.strides[a.dim], &stride)) stride = 1;
  y.strides.insert(a.dim, stride);
  y.shape.insert(a.dim, 1);
  return y;
}
Layout layout_remove_axis(const RemoveAxis& a, const Layout& x) {
  require<IndexError>(
      a.dim >= 0 && a.dim < x.rank() && x.shape[a.dim] == 1, "expected a dimension of size 1: got {} for {}", a.dim, x.shape);
  Layout y = x;
  y.shape.erase(a.dim);
  y.strides.erase(a.dim);
  return y;
}

Grads grad_view(const View&, const GradContext& c) { return {reshape(c.dy(), c.meta(0).shape)}; }
Grads grad_permute(const Permute& a, const GradContext& c) {
  Dims back(a.dims.size(), 0);
  for (int64_t i = 0; i < a.dims.size(); ++i) back[a.dims[i]] = i;
  return {permute(c.dy(), back)};
}
Grads grad_expand(const Expand& a, const GradContext& c) {
  const Shape& from = c.meta(0).shape;
  const int extra = a.shape.rank() - from.rank();
  Dims stretched;
  for (int i = 0; i < a.shape.rank(); ++i)
    if (i < extra || (from[i - extra] == 1 && a.shape[i] != 1)) stretched.push_back(i);
  if (stretched.empty()) return {c.dy()};
  const TensorHandle total = sum(c.dy(), stretched, true);
  return {extra ? reshape(total, from) : total};
}
Grads grad_slice(const Slice& a, const GradContext& c) {
  return {embedded(c, [&](const TensorHandle& w) {
    return slice(w, a.dim, a.start, a.length > 0 ? a.start + (a.length - 1) * a.step + 1 : a.start, a.step);
  })};
}
Grads grad_select(const Select& a, const GradContext& c) {
  return {embedded(c, [&](const TensorHandle& w) { return select(w, a.dim, a.index); })};
}
Grads grad_unsqueeze(const InsertAxis& a, const GradContext& c) { return {remove_axis(c.dy(), a.dim)}; }
Grads grad_remove_axis(const RemoveAxis& a, const GradContext& c) { return {unsqueeze(c.dy(), a.dim)}; }

Meta infer_reshape(const View& a, Metas in) { return {infer_size(a.shape, in[0].shape.numel()), in[0].dtype}; }
TensorHandle decompose_reshape(const View& a, Inputs in) {
  const TensorHandle& x = *in[0];
  return view_strides(x.layout(), a.shape) ? view(x, a.shape) : TensorHandle(independent(view(contiguous_copy(x), a.shape)));
}

}  // namespace

namespace op {
constinit OpInfo view = define_view<View, layout_view, grad_view>({.schema = "view(Tensor input, int[] size) -> Tensor",
    .doc = "Returns a view of input with another shape; one size may be -1 (inferred).",
    .torch = "lambda x, size: x.view(size)",
    .example = "pyburn.ones(6).view(2, 3)",
    .samples = R"(
t(2, 3), (3, 2)
t(2, 3), (-1,)
t(), (1, 1)
t(0, 3), (3, 0)
t(4, 6)[:, ::2], (2, 2, 3)
t(4, 1).expand(4, 3), (2, 2, 3)
t(2, 3), (4, 2) ! size is invalid
t(2, 3).T, (6,) ! use reshape)"});
constinit OpInfo reshape =
    define<View, infer_reshape, nullptr, decompose_reshape>({.schema = "reshape(Tensor input, int[] shape) -> Tensor",
        .doc = "Returns input with another shape: a view where possible, else a copy. One size may be -1 (inferred).",
        .may_alias = true,
        .no_grad = "decomposes into view and contiguous_copy",
        .example = "pyburn.reshape(pyburn.arange(6), (2, 3))",
        .samples = R"(
t(2, 3), (3, 2)
t(2, 3), (-1,)
t(), (1,)
t(0, 3), (0,)
t(2, 3).T, (6,)
t(2, 1).expand(2, 3), (3, 2)
t(2, 3), (4, -1) ! size is invalid)"});
constinit OpInfo permute = define_view<Permute, layout_permute, grad_permute>({.schema = "permute(Tensor input, int[] dims) -> Tensor",
    .doc = "Permutes the dimensions of input. Returns a view.",
    .example = "pyburn.permute(pyburn.ones(2, 3, 4), (2, 0, 1)).shape",
    .samples = R"(
t(2, 3, 4), (2, 0, 1)
t(2, 3), (-1, 0)
t(), ()
t(0, 3), (1, 0)
t(2, 3).T, (1, 0)
t(2, 1).expand(2, 3), (1, 0)
t(2, 3), (0, 0) ! twice
t(2, 3), (0,) ! dimensions)"});
constinit OpInfo expand = define_view<Expand, layout_expand, grad_expand>({.schema = "expand(Tensor input, int[] size) -> Tensor",
    .doc = "Expands dimensions of size 1 to the given sizes without a copy; -1 keeps a size.",
    .torch = "lambda x, size: x.expand(size)",
    .example = "pyburn.ones(3, 1).expand(-1, 4).shape",
    .samples = R"(
t(3, 1), (3, 4)
t(3), (2, -1)
t(), (2, 2)
t(1, 0), (2, 0)
t(3, 1, 2).permute(2, 1, 0), (2, 4, 3)
t(2, 1).expand(2, 3), (2, 2, 3)
t(2, 3), (2, 4) ! must match)"});
constinit OpInfo slice = define_view<Slice, layout_slice, grad_slice>(
    {.schema = "slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
        .doc = "Returns input[start:end:step] along dim as a view.",
        .torch = "lambda x, dim=0, start=None, end=None, step=1: torch.ops.aten.slice(x, dim, start, end, step)",
        .example = "pyburn.slice(pyburn.arange(10), 0, 2, 8, 3)",
        .samples = R"(
t(4, 3)
t(4, 3), 0, 1, 3
t(4, 7), 1, 1, None, 2
t(4, 7), -1, -5, -1
t(4), 0, 3, 1
t(0, 3), 0, 0, 5
t(3, 4).T, 0, 1
t(2, 1).expand(2, 5), 1, 1, 5, 2
t(4), 0, 0, 4, 0 ! step must be
t(4), 1 ! dim out of range
t() ! dimension)"});
constinit OpInfo select = define_view<Select, layout_select, grad_select>({.schema = "select(Tensor input, int dim, int index) -> Tensor",
    .doc = "Selects one index along dim and removes the dimension. Returns a view.",
    .example = "pyburn.select(pyburn.ones(2, 3), 0, 1)",
    .samples = R"(
t(4, 3), 0, 1
t(4, 3), -1, -1
t(3, 4).T, 0, 2
t(2, 1).expand(2, 5), 1, 4
t(0, 3), 1, 0
t(4), 0, 0
t(), 0, 0 ! dimension
t(4, 3), 0, 4 ! out of bounds)"});
constinit OpInfo unsqueeze =
    define_view<InsertAxis, layout_unsqueeze, grad_unsqueeze>({.schema = "unsqueeze(Tensor input, int dim) -> Tensor",
        .doc = "Inserts a dimension of size 1 at position dim. Returns a view.",
        .example = "pyburn.unsqueeze(pyburn.ones(3), 0).shape",
        .samples = "t(3), 0\nt(3), -1\nt(), 0\nt(0, 2), 2\nt(2, 3).T, 1\nt(2, 1).expand(2, 3), 0\nt(3), 2 ! dim out of range"});
constinit OpInfo remove_axis =
    define_view<RemoveAxis, layout_remove_axis, grad_remove_axis>({.schema = "remove_axis(Tensor input, int dim) -> Tensor",
        .doc = "Removes the dimension dim, which must have size 1. Returns a view.",
        .torch = "torch.squeeze",
        .example = "pyburn.remove_axis(pyburn.ones(1, 3), 0).shape",
        .samples = "t(1, 3), 0\nt(3, 1), -1\nt(1), 0\nt(0, 1), 1\nt(3, 1, 2).permute(2, 1, 0), 1\nt(1, 1).expand(1, 3), 0\nt(), 0 ! size "
                   "1\nt(3), 0 ! size 1"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "transpose(Tensor input, int dim0, int dim1) -> Tensor",
        .doc = "Swaps two dimensions. Returns a view.",
        .example = "pyburn.transpose(pyburn.ones(2, 3), 0, 1).shape",
        .samples = "t(2, 3), 0, 1\nt(2, 3, 4), -1, 0\nt(), 0, 0\nt(0, 2), 0, 1\nt(2, 3).T, 1, 0\nt(2, 1).expand(2, 3), 0, 1\nt(2), 0, 1 ! "
                   "dim out of range"},
    {.schema = "t(Tensor input) -> Tensor",
        .doc = "Transposes a matrix; tensors with fewer dimensions are returned unchanged. Returns a view.",
        .example = "pyburn.t(pyburn.ones(2, 3)).shape",
        .samples = "t(2, 3)\nt(4)\nt()\nt(0, 2)\nt(2, 3).T\nt(2, 1).expand(2, 3)\nt(2, 3, 4) ! at most 2"},
    {.schema = "squeeze(Tensor input, int[]? dim=None) -> Tensor",
        .doc = "Removes dimensions of size 1: all of them, or those listed in dim. Returns a view.",
        .torch = "lambda x, dim=None: torch.squeeze(x) if dim is None else torch.squeeze(x, dim)",
        .example = "pyburn.squeeze(pyburn.ones(1, 3, 1)).shape",
        .samples = "t(1, 3, 1)\nt(1, 3, 1), dim=0\nt(1, 3, 1), dim=(0, -1)\nt(1, 3, 1), ()\nt(2, 3), dim=1\nt()\nt(0, 1)\nt(2, 1, "
                   "3).permute(2, 1, "
                   "0)\nt(1, 1).expand(1, 3)\nt(2), dim=1 ! dim out of range"},
    {.schema = "flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor",
        .doc = "Flattens the dimensions start_dim to end_dim into one.",
        .example = "pyburn.flatten(pyburn.ones(2, 3, 4), 1).shape",
        .samples = "t(2, 3, 4)\nt(2, 3, 4), 1\nt(2, 3, 4), 0, 1\nt()\nt(0, 2)\nt(2, 3).T\nt(2, 1).expand(2, 3)\nt(2, 3), 1, 0 ! start_dim"},
    {.schema = "narrow(Tensor input, int dim, int start, int length) -> Tensor",
        .doc = "Returns the entries start to start + length along dim as a view.",
        .example = "pyburn.narrow(pyburn.arange(5), 0, 1, 3)",
        .samples = "t(4, 3), 0, 1, 2\nt(4, 3), -1, 0, 1\nt(0, 3), 0, 0, 0\nt(3, 4).T, 0, 1, 2\nt(2, 1).expand(2, 5), 1, 1, 3\nt(4), 0, 2, "
                   "3 ! exceeds\nt(), 0, 0, 0 ! dimension"},
};
}  // namespace

TensorHandle fn::transpose(const TensorHandle& input, int64_t dim0, int64_t dim1) {
  const int a = normalise_dim(dim0, input.rank()), b = normalise_dim(dim1, input.rank());
  Dims order;
  for (int i = 0; i < input.rank(); ++i) order.push_back(i == a ? b : i == b ? a : i);
  return permute(input, order);
}
namespace {
// A tensor of its own on the same elements: where a view has nothing to change, PyTorch returns a new object all the same.
TensorHandle same_axes(const TensorHandle& x) {
  Dims order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  return fn::permute(x, order);
}
}  // namespace

TensorHandle fn::t(const TensorHandle& input) {
  require(input.rank() <= 2, "[t] expected at most 2 dimensions: got {}", input.shape());
  return input.rank() == 2 ? permute(input, Dims{1, 0}) : same_axes(input);
}
TensorHandle fn::squeeze(const TensorHandle& input, const OptionalDims& dim) {
  if (dim && dim->empty()) return same_axes(input);  // no axis, where None is all
  const Dims axes = normalise_dims(dim, input.rank());
  TensorHandle y = input;
  for (int64_t i = axes.size() - 1; i >= 0; --i)
    if (input.shape()[axes[i]] == 1) y = remove_axis(y, axes[i]);
  return y.is_same(input) ? same_axes(input) : y;
}
TensorHandle fn::flatten(const TensorHandle& input, int64_t start_dim, int64_t end_dim) {
  if (input.rank() == 0) return reshape(input, Dims{1});
  const int a = normalise_dim(start_dim, input.rank()), b = normalise_dim(end_dim, input.rank());
  require(a <= b, "[flatten] start_dim cannot come after end_dim: got {} and {}", start_dim, end_dim);
  if (a == b) return input;
  Dims size;
  for (int i = 0; i < input.rank(); ++i) {
    if (i > a && i <= b) size.back() *= input.shape()[i];
    else size.push_back(input.shape()[i]);
  }
  return reshape(input, size);
}
TensorHandle fn::narrow(const TensorHandle& input, int64_t dim, int64_t start, int64_t length) {
  require<IndexError>(input.rank() > 0, "[narrow] requires at least one dimension: got rank 0");
  const int d = normalise_dim(dim, input.rank());
  const int64_t n = input.shape()[d], first = start < 0 ? start + n : start;
  const bool fits =
      length >= 0 && first >= 0 &&
      (planted_fault == Fault::unchecked_positions ? int64_t(uint64_t(first) + uint64_t(length)) <= n : first <= n && length <= n - first);
  require<IndexError>(fits, "[narrow] start ({}) + length ({}) exceeds dimension size ({})", start, length, n);
  return slice(input, d, first, first + length, 1);
}

void register_movement(OpTable& table) {
  table.add({&op::view, &op::reshape, &op::permute, &op::expand, &op::slice, &op::select, &op::unsqueeze, &op::remove_axis});
  table.add(functions);
}

}  // namespace pyburn
