// Matrix factorisations and solvers. Leading dimensions are batch dimensions.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Triangular {
  bool upper = false, left = true, unit = false;  // unit: the diagonal is assumed to be ones and not read
  PB_FIELDS(upper, left, unit)
  static Triangular from(const TensorHandle&, const TensorHandle&, bool upper, bool left, bool unit) { return {upper, left, unit}; }
};
struct Cholesky {
  bool upper = false;
  PB_FIELDS(upper)
  static Cholesky from(const TensorHandle&, bool upper) { return {upper}; }
};
enum class QrMode : uint8_t { reduced, complete, r };
struct Qr {
  QrMode mode = QrMode::reduced;
  PB_FIELDS(mode)
  static Qr from(const TensorHandle&, const std::string& mode);
};
struct Eigh {
  bool upper = false;  // the triangle that is read
  PB_FIELDS(upper)
  static Eigh from(const TensorHandle&, const std::string& UPLO);
};
struct Svd {
  bool full = true;  // square U and Vh
  PB_FIELDS(full)
  static Svd from(const TensorHandle&, bool full_matrices) { return {full_matrices}; }
};
struct Pinv {
  double atol = 0, rtol = 0;  // singular values up to max(atol, rtol * the largest one) count as 0
  PB_FIELDS(atol, rtol)
  // As in PyTorch: rtol defaults to the rounding error of a matrix of that size unless a tolerance is given.
  static Pinv from(const TensorHandle& A, std::optional<double> atol, std::optional<double> rtol);
};

namespace op {
extern OpInfo _linalg_solve, _linalg_lu, linalg_slogdet, linalg_solve_triangular, linalg_cholesky, linalg_qr, linalg_eigh, linalg_svd,
    _linalg_pinv;
}

}  // namespace pyburn
