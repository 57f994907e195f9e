// Where the elements of a tensor lie inside its storage. Counted in elements, not bytes.
#pragma once
#include "pyburn/tensor/shape.h"

namespace pyburn {

struct Layout {
  Shape shape;
  Dims strides;
  int64_t offset = 0;

  int rank() const { return shape.rank(); }
  int64_t numel() const { return shape.numel(); }
  bool is_contiguous() const;  // plain row-major order, no holes
  bool has_overlap() const;    // two indices may mean the same element
  bool operator==(const Layout& o) const { return offset == o.offset && shape == o.shape && strides == o.strides; }
  // First and one-past-last element that the layout touches; equal when empty.
  std::pair<int64_t, int64_t> extent() const;
};

Dims contiguous_strides(const Shape&);
Layout contiguous_layout(const Shape&);
// Strides that keep x's order of axes (channels-last stays channels-last) for a dense tensor of x's shape.
Dims dense_strides_like(const Layout& x);
// Strides of a fresh result of `shape` that is computed element by element from inputs of that shape: the axes lie in the
// order of the first input; where it is stretched (stride 0) the next one decides, as in PyTorch.
Dims elementwise_strides(const Shape& shape, std::span<const Layout* const> inputs);
std::string to_text(const Layout&);

}  // namespace pyburn
