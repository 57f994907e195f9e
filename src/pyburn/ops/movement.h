// Views: a new layout on the same storage.
#pragma once
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct View {
  Shape shape;  // of the result, without -1
  PB_FIELDS(shape)
  static View from(const TensorHandle& x, const Dims& size);
};
struct Permute {
  Dims dims;  // result dimension i is input dimension dims[i]
  PB_FIELDS(dims)
  static Permute from(const TensorHandle& x, const Dims& dims);
};
struct Slice {
  int64_t dim = 0, start = 0, length = 0, step = 1;  // normalised: inside the dimension
  PB_FIELDS(dim, start, length, step)
  static Slice from(const TensorHandle& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
};
struct Select {
  int64_t dim = 0, index = 0;
  PB_FIELDS(dim, index)
  static Select from(const TensorHandle& x, int64_t dim, int64_t index);
};
struct InsertAxis {
  int64_t dim = 0;
  PB_FIELDS(dim)
  static InsertAxis from(const TensorHandle& x, int64_t dim);
};
struct RemoveAxis {
  int64_t dim = 0;
  PB_FIELDS(dim)
  static RemoveAxis from(const TensorHandle& x, int64_t dim);
};

// Strides for viewing x as `shape` without a copy; absent if that is impossible.
std::optional<Dims> view_strides(const Layout& x, const Shape& shape);
// Replaces a -1 in `size`; ShapeError if the sizes do not match.
Shape infer_size(const Dims& size, int64_t numel);

namespace op {
extern OpInfo view, reshape, permute, slice, select, unsqueeze, remove_axis;
}

}  // namespace pyburn
