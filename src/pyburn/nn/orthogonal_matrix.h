// Matrices with orthonormal columns (rows, where those are fewer) from any matrix, by maps that have a gradient.
#pragma once
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn::nn {

// `map` is "matrix_exp", "cayley" or "householder". `base`, a square matrix, may be undefined; else the result is turned by it.
TensorHandle orthogonal_matrix(const TensorHandle& x, const std::string& map, const TensorHandle& base = {});

// Where orthogonal_matrix must start to give `q`. With `turned` q itself goes into the base, and every map can do it; else base is
// undefined, and only "householder" can. A `q` that is not orthogonal is made so.
struct OrthogonalStart {
  TensorHandle x, base;
};
OrthogonalStart orthogonal_start(const TensorHandle& q, const std::string& map, bool turned);

}  // namespace pyburn::nn
