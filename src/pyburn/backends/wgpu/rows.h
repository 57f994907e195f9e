// Tensors seen as rows: the elements along some dimensions, for each position along the others.
#pragma once
#include <algorithm>

#include "pyburn/backends/wgpu/kernel_table.h"

namespace pyburn::wgpu {

// x with these dimensions last: element k of row r is x_get(r * length + k).
inline TensorHandle with_last(const TensorHandle& x, const Dims& dim) {
  Shape shape;
  Dims strides;
  for (const bool last : {false, true})
    for (int i = 0; i < x.rank(); ++i)
      if ((std::find(dim.begin(), dim.end(), i) != dim.end()) == last) shape.push_back(x.shape()[i]), strides.push_back(x.strides()[i]);
  return relayout(x, shape, strides, x.layout().offset);
}
inline TensorHandle with_last(const TensorHandle& x, int64_t dim) { return with_last(x, x.rank() == 0 ? Dims{} : Dims{dim}); }
inline int64_t extent_of(const TensorHandle& x, int64_t dim) { return x.rank() == 0 ? 1 : x.shape()[dim]; }

// start: the neutral element; load: an element v in the type of the fold; fold: of a and b; finish: the result of r.
struct Fold {
  Word type;
  std::string start, load, fold, finish = "r";
  float divisor = 1;  // p.divisor of `finish`
};

// Element r of y is the fold of `element`(r * length + k), a function of WGSL, for each k below length. The order is fixed: one thread
// folds a short row, a workgroup a longer one, and long and few rows take two passes.
void fold_rows(const Call&, Shader&, const std::string& element, const TensorHandle& y, int64_t rows, int64_t length, const Fold&);

}  // namespace pyburn::wgpu
