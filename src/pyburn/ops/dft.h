// Discrete Fourier transforms along one dimension. A complex number is a pair (real, imaginary) in a last dimension of 2.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Dft {
  int64_t dim = 0;  // of the input, before the dimension of pairs
  bool inverse = false;
  double scale = 1;  // of the result: 1 / n for the usual inverse
  PB_FIELDS(dim, inverse, scale)
  static Dft from(const TensorHandle& x, int64_t dim, bool inverse, double scale) { return {normalise_dim(dim, x.rank()), inverse, scale}; }
};
struct RealDft {
  int64_t dim = 0;
  double scale = 1;
  PB_FIELDS(dim, scale)
  static RealDft from(const TensorHandle& x, int64_t dim, double scale) { return {normalise_dim(dim, x.rank()), scale}; }
};
struct RealInverseDft {
  int64_t dim = 0, n = 0;  // n: elements of the result along dim, of which n / 2 + 1 frequencies are given
  double scale = 1;
  PB_FIELDS(dim, n, scale)
  static RealInverseDft from(const TensorHandle& x, int64_t dim, int64_t n, double scale) {
    return {normalise_dim(dim, x.rank()), n, scale};
  }
};

namespace op {
extern OpInfo dft, rdft, irdft;
}

}  // namespace pyburn
