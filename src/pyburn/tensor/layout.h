// The layout of elements inside a storage, in elements, not bytes.
#pragma once
#include "pyburn/tensor/shape.h"

namespace pyburn {

struct Layout {
  Shape shape;
  Dims strides;
  int64_t offset = 0;

  int rank() const { return shape.rank(); }
  int64_t numel() const { return shape.numel(); }
  bool is_contiguous() const;  // contiguous row-major order, no holes
  bool has_overlap() const;    // two indices may refer to the same element
  bool operator==(const Layout& o) const { return offset == o.offset && shape == o.shape && strides == o.strides; }
  // The first and one-past-last element that the layout covers; equal if empty.
  std::pair<int64_t, int64_t> extent() const;
};

Dims contiguous_strides(const Shape&);
Layout contiguous_layout(const Shape&);
// Strides that preserve x's memory format (channels-last stays channels-last) for a dense tensor of x's shape.
Dims dense_strides_like(const Layout& x);
// Strides of a new element-wise result of `shape`: the dimensions are ordered as in the first input; where it is broadcast (stride 0), the
// next input decides, as in PyTorch.
Dims elementwise_strides(const Shape& shape, std::span<const Layout* const> inputs);
std::string to_text(const Layout&);

}  // namespace pyburn
