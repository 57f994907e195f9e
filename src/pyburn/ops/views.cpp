// Views of non-contiguous parts: diagonals, windows, arbitrary strides.
#include "pyburn/ops/views.h"

#include <algorithm>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/part_gradient.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

Layout layout_as_strided(const AsStrided& a, const Layout&) {
  require(a.size.size() == a.stride.size(), "mismatch in length of strides and shape: got {} and {}", a.size, a.stride);
  const int64_t elements = checked_numel(a.size);
  for (int64_t s : a.stride) require(s >= 0, "strides must not be negative: got {}", a.stride);
  require(a.offset >= 0, "storage_offset must not be negative: got {}", a.offset);
  return {a.size, a.stride, elements > 0 ? a.offset : 0};  // no address follows from an offset that nothing bounds
}
// dy is accumulated in a buffer with the layout of the storage; the gradient of the input is read from there.
Grads grad_as_strided(const AsStrided& a, const GradContext& c) {
  const Layout from{c.meta(0).shape, a.input_stride, a.input_offset}, to{a.size, a.stride, a.offset};
  Device* device = &c.dy().device();
  if (from.numel() == 0 || to.numel() == 0) return {zeros(from.shape, c.meta(0).dtype, device, false)};
  const int64_t first = std::min(from.offset, to.offset), end = std::max(from.extent().second, to.extent().second);
  const TensorHandle everywhere = arange(end - first, {}, 1, DType::int64, device, false);
  auto places = [&](const Layout& l) { return reshape(as_strided(everywhere, l.shape, l.strides, l.offset - first), Dims{l.numel()}); };
  const TensorHandle nothing = zeros(Dims{end - first}, c.dy().dtype(), device, false), sources = places(from);
  TensorHandle total = index_add(nothing, 0, places(to), reshape(c.dy(), Dims{to.numel()}));
  if (from.has_overlap()) {  // elements that share a place share its gradient
    const TensorHandle sharing = index_add(nothing, 0, sources, ones(Dims{from.numel()}, c.dy().dtype(), device, false));
    total = total / where(eq(sharing, 0), 1.0, sharing);
  }
  return {reshape(index_select(total, 0, sources), from.shape)};
}

Layout layout_diagonal(const Diagonal& a, const Layout& x) {
  check_dim(a.dim1, x.rank());
  check_dim(a.dim2, x.rank());
  require(x.rank() >= 2, "expected at least 2 dimensions: got {}", x.shape);
  require(a.dim1 != a.dim2, "the two dimensions of a diagonal must differ: got {} twice", a.dim1);
  Layout y{{}, {}, x.offset};
  for (int i = 0; i < x.rank(); ++i) {
    if (i == a.dim1 || i == a.dim2) continue;
    y.shape.push_back(x.shape[i]);
    y.strides.push_back(x.strides[i]);
  }
  const int64_t down = std::max<int64_t>(0 - Checked(a.offset), 0), right = std::max<int64_t>(a.offset, 0);
  const int64_t length = std::max<int64_t>(std::min(x.shape[a.dim1] - down, x.shape[a.dim2] - right), 0);
  if (length > 0) y.offset = x.offset + Checked(down) * x.strides[a.dim1] + Checked(right) * x.strides[a.dim2];
  y.shape.push_back(length);
  y.strides.push_back(Checked(x.strides[a.dim1]) + x.strides[a.dim2]);
  return y;
}
Grads grad_diagonal(const Diagonal& a, const GradContext& c) {
  return {embedded(c, [&](const TensorHandle& w) { return diagonal(w, a.offset, a.dim1, a.dim2); })};
}

Layout layout_unfold(const Windows& a, const Layout& x) {
  check_dim(a.dim, x.rank());
  const int64_t n = x.rank() ? x.shape[a.dim] : 1;
  require(a.size >= 0, "size must not be negative: got {}", a.size);
  require(a.size <= n, "maximum size for tensor at dimension {} is {}: got {}", a.dim, n, a.size);
  require(a.step > 0, "step must be greater than zero: got {}", a.step);
  Layout y = x;
  const int64_t stride = x.rank() ? x.strides[a.dim] : 1;
  if (x.rank()) {
    y.shape[a.dim] = (n - a.size) / a.step + 1;
    y.strides[a.dim] = y.shape[a.dim] > 1 ? int64_t(Checked(stride) * a.step) : stride;
  }
  y.shape.push_back(a.size);
  y.strides.push_back(stride);
  return y;
}
// Windows may overlap: element j of all windows is a slice, and these slices are added sequentially.
Grads grad_unfold(const Windows& a, const GradContext& c) {
  if (c.meta(0).shape.rank() == 0) return {a.size ? reshape(c.dy(), Dims{}) : zeros(Dims{}, c.meta(0).dtype, &c.dy().device(), false)};
  if (a.step >= a.size) return {embedded(c, [&](const TensorHandle& w) { return unfold(w, a.dim, a.size, a.step); })};
  const TensorHandle whole = zeros(c.meta(0).shape, c.meta(0).dtype, &c.dy().device(), false);
  const int64_t windows = (c.meta(0).shape[a.dim] - a.size) / a.step + 1;
  for (int64_t j = 0; j < a.size; ++j) {
    const TensorHandle part = slice(whole, a.dim, j, j + (windows - 1) * a.step + 1, a.step);
    add_into(part, part, select(c.dy(), c.dy().rank() - 1, j));
  }
  return {whole};
}

}  // namespace

namespace op {
constinit OpInfo as_strided = define_view<AsStrided, layout_as_strided, grad_as_strided>(
    {.schema = "as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
        .doc = "Returns a view of the storage of input with the given shape, strides and storage offset.",
        .example = "pyburn.as_strided(pyburn.arange(6), (2, 2), (1, 2))",
        .samples = R"(
t(3, 4), (2, 2), (4, 1)
t(3, 4), (2, 3), (1, 2), 1
t(3, 4), (12,), (1,), storage_offset=0
t(3, 4), (3, 3), (1, 1)
t(3, 4).T, (2, 3), (2, 3), 1
t(6)[1:], (2, 2), (2, 1)
t(2, 1).expand(2, 3), (2, 2), (1, 0)
t(), (), ()
t(), (2, 2), (0, 0)
t(0), (0, 2), (2, 1)
t(4, dtype=i64), (2, 2), (2, 1)
t(3, 4), (2, 2), (1,) ! length
t(3, 4), (4, 4), (4, 1) ! out of bounds
t(3, 4), (2, 2), (4, 1), -1 ! negative
t(3, 4), (2, 2), (-4, 1) ! negative)"});
constinit OpInfo diagonal = define_view<Diagonal, layout_diagonal, grad_diagonal>(
    {.schema = "diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        .doc = "Returns a view of the diagonals of two dimensions as a new last dimension.",
        .example = "pyburn.diagonal(pyburn.arange(9).view(3, 3), 1)",
        .samples = R"(
t(3, 3)
t(3, 4), 1
t(4, 3), -2
t(2, 3, 4), 0, 1, 2
t(2, 3, 4), offset=1, dim1=-1, dim2=0
t(3, 3), 5
t(0, 3)
t(4, 3).T, 1
t(3, 1).expand(3, 3)
t(3, 3, dtype=i64)
t() ! dim out of range
t(3) ! dim out of range
t(3, 3), 0, 1, 1 ! differ)"});
constinit OpInfo unfold =
    define_view<Windows, layout_unfold, grad_unfold>({.schema = "unfold(Tensor input, int dimension, int size, int step) -> Tensor",
        .doc = "Returns a view of all windows of the given size along a dimension; a new last dimension holds their elements.",
        .torch = "lambda x, dimension, size, step: x.unfold(dimension, size, step)",
        .example = "pyburn.arange(5).unfold(0, 3, 1)",
        .samples = R"(
t(7), 0, 3, 2
t(7), 0, 3, 4
t(4, 5), 1, 2, 1
t(4, 5), -2, 4, 1
t(5, 4).T, 1, 3, 2
t(2, 1).expand(2, 5), 1, 2, 3
t(), 0, 1, 1
t(0, 3), 1, 2, 1
t(6, dtype=i64), 0, 6, 1
t(4), 0, 5, 1 ! maximum size
t(4), 0, 2, 0 ! step
t(4), 1, 2, 1 ! dim out of range)"});
}  // namespace op

void register_views(OpTable& table) { table.add({&op::as_strided, &op::diagonal, &op::unfold}); }

}  // namespace pyburn
