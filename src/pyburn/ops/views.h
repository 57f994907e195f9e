// Views of non-contiguous parts: diagonals, windows, arbitrary strides.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// Strides and offset refer to the storage, whatever the layout of the input. The gradient needs the layout of the input.
struct AsStrided {
  Dims size, stride;
  int64_t offset = 0;
  Dims input_stride;
  int64_t input_offset = 0;
  PB_FIELDS(size, stride, offset, input_stride, input_offset)
  static AsStrided from(const TensorHandle& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) {
    return {size, stride, storage_offset.value_or(x.layout().offset), x.strides(), x.layout().offset};
  }
};
struct Diagonal {
  int64_t offset = 0, dim1 = 0, dim2 = 1;
  PB_FIELDS(offset, dim1, dim2)
  static Diagonal from(const TensorHandle& x, int64_t offset, int64_t dim1, int64_t dim2) {
    return {offset, normalise_dim(dim1, x.rank()), normalise_dim(dim2, x.rank())};
  }
};
struct Windows {
  int64_t dim = 0, size = 0, step = 1;
  PB_FIELDS(dim, size, step)
  static Windows from(const TensorHandle& x, int64_t dimension, int64_t size, int64_t step) {
    return {normalise_dim(dimension, x.rank()), size, step};
  }
};

namespace op {
extern OpInfo as_strided, diagonal, unfold;
}

}  // namespace pyburn
