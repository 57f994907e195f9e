#include "pyburn/tensor/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "pyburn/support/checked.h"
#include "pyburn/support/insertion_sort.h"

namespace pyburn {

bool Layout::is_contiguous() const {
  int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return shape.numel() == 0;
    expected = Checked(expected) * shape[i];
  }
  return true;
}

namespace {
// Axes by growing stride; axes of extent 1 do not matter and are left out.
SmallVector<int, 8> axes_by_stride(const Layout& x) {
  SmallVector<int, 8> axes;
  for (int i = x.rank() - 1; i >= 0; --i)
    if (x.shape[i] != 1) axes.push_back(i);
  insertion_sort(axes, [&](int a, int b) { return x.strides[a] < x.strides[b]; });
  return axes;
}
}  // namespace

bool Layout::has_overlap() const {
  if (numel() <= 1 || is_contiguous()) return false;
  Checked reach = 0;  // largest offset of the axes so far
  for (int a : axes_by_stride(*this)) {
    if (strides[a] <= reach) return true;
    reach += Checked(strides[a]) * (shape[a] - 1);
  }
  return false;
}

std::pair<int64_t, int64_t> Layout::extent() const {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return {offset, offset};
  Checked last = offset;
  for (int i = 0; i < rank(); ++i) last += Checked(strides[i]) * (shape[i] - 1);
  return {offset, last + 1};
}

namespace {
// The stride of the axis outside of one with this stride and extent. Where it overflows the tensor is empty, or its size is refused:
// nothing is reached by it.
int64_t next_step(int64_t step, int64_t extent) {
  int64_t next;
  return __builtin_mul_overflow(step, std::max<int64_t>(extent, 1), &next) ? step : next;
}
}  // namespace

Dims contiguous_strides(const Shape& shape) {
  Dims strides(shape.rank(), 1);
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step = next_step(step, shape[i]);
  }
  return strides;
}

Layout contiguous_layout(const Shape& shape) { return {shape, contiguous_strides(shape), 0}; }

Dims dense_strides_like(const Layout& x) {
  if (x.is_contiguous() || x.has_overlap()) return contiguous_strides(x.shape);
  Dims strides(x.rank(), 1);
  int64_t step = 1;
  for (int a : axes_by_stride(x)) {
    strides[a] = step;
    step *= x.shape[a];
  }
  for (int i = 0; i < x.rank(); ++i)
    if (x.shape[i] == 1) strides[i] = i + 1 < x.rank() ? int64_t(Checked(strides[i + 1]) * x.shape[i + 1]) : 1;
  return strides;
}

namespace {
// Must dimension a be outside dimension b? -1 no, 1 yes, 0 undecided.
int order_of(int a, int b, const Shape& shape, std::span<const Layout* const> inputs) {
  for (const Layout* x : inputs) {
    const int64_t s = x->strides[a], t = x->strides[b];
    if (s == 0 || t == 0) continue;
    if (s != t) return s < t ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}
}  // namespace

Dims elementwise_strides(const Shape& shape, std::span<const Layout* const> inputs) {
  SmallVector<int, 8> order;  // innermost axis first
  for (int i = shape.rank() - 1; i >= 0; --i) order.push_back(i);
  for (int64_t i = 1; i < order.size(); ++i)
    for (int64_t k = i, below = i - 1; below >= 0; --below) {
      const int order_here = order_of(order[below], order[k], shape, inputs);
      if (order_here < 0) break;
      if (order_here == 0) continue;  // undecided: look further in
      std::swap(order[below], order[k]);
      k = below;
    }
  Dims strides(shape.rank(), 1);
  int64_t step = 1;
  for (int axis : order) {
    strides[axis] = step;
    step = next_step(step, shape[axis]);
  }
  return strides;
}

std::string to_text(const Layout& l) { return to_text(l.shape) + " strides " + to_text(l.strides) + " offset " + std::to_string(l.offset); }

}  // namespace pyburn
