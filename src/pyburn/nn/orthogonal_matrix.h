// Differentiable maps from matrices to matrices with orthonormal columns (or rows, if there are fewer rows).
#pragma once
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn::nn {

// `map` is "matrix_exp", "cayley" or "householder". `base`, a square matrix, may be undefined; otherwise the result is multiplied by it.
TensorHandle orthogonal_matrix(const TensorHandle& x, const std::string& map, const TensorHandle& base = {});

// The inverse: the matrix that is mapped to `q`. With `turned`, q is stored in the base, which works for every map; otherwise base is
// undefined, and only "householder" is supported. A non-orthogonal `q` is orthogonalised.
struct OrthogonalStart {
  TensorHandle x, base;
};
OrthogonalStart orthogonal_start(const TensorHandle& q, const std::string& map, bool turned);

}  // namespace pyburn::nn
