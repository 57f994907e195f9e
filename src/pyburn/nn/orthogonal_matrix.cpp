#include "pyburn/nn/orthogonal_matrix.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/linalg.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/solvers.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {
namespace {

int64_t rows_of(const TensorHandle& x) { return x.shape()[x.rank() - 2]; }
int64_t columns_of(const TensorHandle& x) { return x.shape()[x.rank() - 1]; }
void check_matrix(const TensorHandle& x) {
  require<ValueError>(x.rank() >= 2, "Expected a matrix or batch of matrices. Got a tensor of {} dimensions.", x.rank());
}
TensorHandle transposed(const TensorHandle& x) { return fn::transpose(x, -2, -1); }
TensorHandle diagonal_of(const TensorHandle& x) { return fn::diagonal(x, 0, -2, -1); }
TensorHandle identity(const TensorHandle& like, int64_t rows, int64_t columns) {
  return fn::eye(rows, columns, like.dtype(), &like.device());
}
Dims with_columns(const TensorHandle& x, int64_t columns) {
  Dims size = x.shape();
  size[int(size.size()) - 1] = columns;
  return size;
}

// The first columns of the product of the reflections 1 - tau v v^T; v is a column of a below a 1 on the diagonal.
TensorHandle householder_product(const TensorHandle& a, const TensorHandle& tau) {
  const TensorHandle start = identity(a, rows_of(a), columns_of(a)), vectors = fn::tril(a, -1) + start;
  TensorHandle result = fn::expand(start, a.shape());
  for (int64_t i = columns_of(a) - 1; i >= 0; --i) {
    const TensorHandle v = fn::slice(vectors, -1, i, i + 1), factor = fn::unsqueeze(fn::slice(tau, -1, i, i + 1), -1);
    result = result - factor * v * fn::matmul(transposed(v), result);
  }
  return result;
}

// The reflections that make a tall matrix triangular: R above the diagonal, the vectors below, and their factors.
struct Reflections {
  TensorHandle packed, factors;
};
Reflections reflections(const TensorHandle& a) {
  TensorHandle r = a;
  Tensors columns, factors;
  for (int64_t i = 0; i < columns_of(a); ++i) {
    const TensorHandle column = fn::select(r, -1, i), above = fn::slice(column, -1, 0, i), x = fn::slice(column, -1, i);
    const TensorHandle head = fn::slice(x, -1, 0, 1), rest = fn::slice(x, -1, 1);
    const TensorHandle length = fn::linalg_vector_norm(x, 2, Dims{-1}, true);
    const TensorHandle is_done = fn::eq(fn::linalg_vector_norm(rest, 2, Dims{-1}, true), 0);
    const TensorHandle diagonal = fn::where(is_done, head, fn::where(fn::ge(head, 0), -length, length));
    const TensorHandle factor = fn::where(is_done, fn::zeros_like(head), (diagonal - head) / diagonal);
    const TensorHandle divisor = fn::where(is_done, fn::ones_like(head), head - diagonal);
    const TensorHandle below = fn::where(is_done, fn::zeros_like(rest), rest / divisor);
    const TensorHandle v = fn::unsqueeze(fn::cat({fn::zeros_like(above), fn::ones_like(head), below}, -1), -1);
    r = r - fn::unsqueeze(factor, -1) * v * fn::matmul(transposed(v), r);
    columns.push_back(fn::cat({fn::slice(fn::select(r, -1, i), -1, 0, i), diagonal, below}, -1));
    factors.push_back(factor);
  }
  return {fn::stack(columns, -1), fn::cat(factors, -1)};
}

// The columns of a tall matrix made orthonormal: the Q of its QR decomposition with a positive diagonal of R.
TensorHandle orthonormal(const TensorHandle& a) {
  const Handles<2> qr = fn::linalg_qr(a);
  return qr[0] * fn::unsqueeze(fn::sign(diagonal_of(qr[1])), -2);
}

bool is_orthogonal(const TensorHandle& q) {  // within 10 units of rounding per column
  const double unit = q.dtype() == DType::float64 ? 2.2e-16 : q.dtype() == DType::float32 ? 1.2e-7 : 1e-3;
  const TensorHandle error = fn::abs(fn::matmul(transposed(q), q) - identity(q, columns_of(q), columns_of(q)));
  return error.numel() == 0 || read_number(fn::amax(error)) <= 10 * double(columns_of(q)) * unit;
}

TensorHandle by_reflections(const TensorHandle& x) {
  const TensorHandle a = fn::tril(x, -1), tau = 2.0 / (1.0 + fn::sum(a * a, Dims{-2}));
  return householder_product(a, tau) * fn::unsqueeze(fn::cast(diagonal_of(x), DType::int32), -2);
}

TensorHandle by_skew_matrix(const TensorHandle& x, bool exponential) {
  const int64_t rows = rows_of(x), columns = columns_of(x);
  TensorHandle square = fn::tril(x);
  if (rows != columns) square = fn::cat({square, fn::zeros(with_columns(x, rows - columns), x.dtype(), &x.device())}, -1);
  const TensorHandle skew = square - transposed(square), one = identity(x, rows, rows);
  const TensorHandle q = exponential ? fn::matrix_exp(skew) : fn::linalg_solve(one - skew / 2, one + skew / 2);
  return fn::slice(q, -1, 0, columns);
}

}  // namespace

TensorHandle orthogonal_matrix(const TensorHandle& x, const std::string& map, const TensorHandle& base) {
  check_matrix(x);
  const bool is_wide = rows_of(x) < columns_of(x);
  const TensorHandle tall = is_wide ? transposed(x) : x;
  TensorHandle q = map == "householder" ? by_reflections(tall) : by_skew_matrix(tall, map == "matrix_exp");
  if (base.defined()) q = fn::matmul(base, q);
  return is_wide ? transposed(q) : q;
}

OrthogonalStart orthogonal_start(const TensorHandle& given, const std::string& map, bool turned) {
  check_matrix(given);
  const bool is_wide = rows_of(given) < columns_of(given);
  TensorHandle q = is_wide ? transposed(given) : given;
  if (!turned) {
    require<UnsupportedOp>(map == "householder",
        "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False.");
    const Reflections r = reflections(q);
    const TensorHandle signs = fn::sign(diagonal_of(r.packed)), x = fn::clone(r.packed);
    copy_into(diagonal_of(x), fn::where(fn::eq(r.factors, 0), -signs, signs));
    return {is_wide ? transposed(x) : x, {}};
  }
  const int64_t more = rows_of(q) - columns_of(q);
  if (more > 0) q = orthonormal(fn::cat({q, fn::randn(with_columns(q, more), q.dtype(), &q.device())}, -1));
  else if (!is_orthogonal(q)) q = orthonormal(q);
  const TensorHandle start = fn::zeros_like(given);
  fn::fill_(diagonal_of(start), -1.0);  // which the maps take to the identity
  return {start, fn::clone(q)};
}

}  // namespace pyburn::nn
