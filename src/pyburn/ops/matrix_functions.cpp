// Functions of matrices in terms of norms and factorisations: norms of matrices, condition numbers, tensors as matrices, and the names
// that PyTorch had before torch.linalg.
#include "pyburn/ops/generated/matrix_functions.h"

#include <algorithm>
#include <cmath>

#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/calculus.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/einsum.h"
#include "pyburn/ops/generated/linalg.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/solvers.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/matrices.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "linalg_matrix_norm(Tensor input, str ord='fro', int[] dim=(-2,-1), bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the Frobenius norm ('fro') or the nuclear norm ('nuc') of matrices.",
        .torch = "torch.linalg.matrix_norm",
        .example = "pyburn.linalg.matrix_norm(pyburn.tensor([[3., 0.], [0., 4.]]))",
        .samples = R"(
t(2, 3)
t(2, 3, 4), 'fro', (0, 2), True
t(4, 3), 'nuc'
t(2, 3, 4), 'nuc', (2, 0), keepdim=True
t(0, 2, 3)
t(3, 4).T
t(2, 1).expand(2, 5)
t(2, 3, dtype=f16), dtype=f32
t() ! two axes
t(3) ! two axes
t(2, 3), 'fro', 0 ! two axes
t(2, 3), 'all' ! 'fro')",
        .out = true},
    {.schema = "linalg_matrix_norm.ord(Tensor input, Scalar ord, int[] dim=(-2,-1), bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the norm of order 1, -1, 2, -2, inf or -inf of matrices.",
        .torch = "torch.linalg.matrix_norm",
        .example = "pyburn.linalg.matrix_norm(pyburn.tensor([[3., 0.], [0., 4.]]), 2)",
        .samples = R"(
t(2, 3), 1
t(2, 3), -1
t(2, 3), 2
t(2, 3), -2
t(2, 3), inf
t(2, 3, 4), -inf, (0, 2), True
t(2, 3, 4), 2, (2, 0), keepdim=True
t(0, 2, 3), 1
t(3, 0), 1
t(3, 0), 2
t(3, 4).T, 1
t(2, 1).expand(2, 5).constant, inf
t(2, 3, dtype=f16), 1, dtype=f32
t(), 1 ! two axes
t(3), 1 ! two axes
t(2, 3), 3 ! ord)",
        .out = true},
    {.schema = "linalg_norm(Tensor input, Scalar? ord=None, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the norm of matrices if ord is given for two dimensions, else the norm of vectors.",
        .torch = "torch.linalg.norm",
        .example = "pyburn.linalg.norm(pyburn.tensor([[3., 4.], [0., 0.]]))",
        .samples = R"(
t(2, 3)
t(2, 3), 1
t(2, 3, 4), 2, (0, 1)
t(2, 3, 4), 3, 1, True
t(5), inf
t()
t(0, 3), dim=1
t(3, 4).T, -1
t(2, 1).expand(2, 5), dim=1
t(2, 3, dtype=f16), dtype=f32
t(2, 3), 3 ! ord)",
        .out = true},
    {.schema = "linalg_norm.named(Tensor input, str ord, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the Frobenius norm ('fro') or the nuclear norm ('nuc') of matrices.",
        .torch = "torch.linalg.norm",
        .example = "pyburn.linalg.norm(pyburn.ones(2, 2), 'fro')",
        .samples = R"(
t(2, 3), 'fro'
t(2, 3, 4), 'nuc', (0, 2), True
t(0, 2, 3), 'fro', (1, 2)
t(3, 4).T, 'nuc'
t(2, 1).expand(2, 5), 'fro'
t(2, 3, dtype=f16), 'fro', dtype=f32
t(), 'fro' ! two axes
t(2, 3, 4), 'fro' ! two axes)",
        .out = true},
    {.schema = "linalg_cond(Tensor input, Scalar? p=None) -> Tensor",
        .doc = "Computes the condition number of matrices: the ratio of the largest and the smallest singular value, or a norm times "
               "that of the inverse.",
        .torch = "lambda x, p=None: torch.linalg.cond(x, p) if p in (None, 2, -2) else torch.linalg.norm(x, p, (-2, -1)) * "
                 "torch.linalg.norm(torch.linalg.inv(x), p, (-2, -1))",
        .example = "pyburn.linalg.cond(pyburn.tensor([[4., 0.], [0., 2.]]))",
        .samples = R"(
t(4, 3)
t(3, 3), -2
tensor([[4., 2., 1.], [2., -5., 3.], [1., 3., 6.]]), 1
tensor([[[4., 2.], [2., 5.]], [[1., 0.5], [0.5, 2.]]]), inf
t(0, 3, 3)
t(3, 4).T
t(1, 4, 3).expand(2, 4, 3)
t() ! matrices)",
        .out = true},
    {.schema = "linalg_cond.named(Tensor input, str p) -> Tensor",
        .doc = "Computes the condition number of square matrices by the Frobenius ('fro') or the nuclear norm ('nuc').",
        .torch = "lambda x, p: torch.linalg.matrix_norm(x, p) * torch.linalg.matrix_norm(torch.linalg.inv(x), p)",
        .example = "pyburn.linalg.cond(pyburn.tensor([[4., 0.], [0., 2.]]), 'fro')",
        .samples = R"(
tensor([[4., 2.], [2., 5.]]), 'fro'
tensor([[4., 2.], [2., 5.]]).T, 'nuc'
t(0, 3, 3), 'fro'
tensor([[[4., 2.], [2., 5.]]]).expand(2, 2, 2), 'fro'
t(), 'fro' ! square
t(2, 3), 'fro' ! square)",
        .out = true},
    {.schema = "linalg_cross(Tensor input, Tensor other, *, int dim=-1) -> Tensor",
        .doc = "Computes cross products along dim, in which both tensors have size 3.",
        .torch = "torch.linalg.cross",
        .example = "pyburn.linalg.cross(pyburn.tensor([1., 0., 0.]), pyburn.tensor([0., 1., 0.]))",
        .samples = R"(
t(3), t(3)
t(2, 3), t(1, 3)
t(3, 4), t(3, 4), dim=0
t(0, 3), t(0, 3)
t(3, 4).T, t(4, 3)
t(1, 3).expand(2, 3), t(2, 3)
t(), t() ! size 3
t(3), t(2, 3) ! size 3
t(2, 4), t(2, 4) ! size 3)",
        .out = true},
    {.schema = "linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
        .doc = "Returns a view of the diagonals of matrices as a new last dimension.",
        .torch = "torch.linalg.diagonal",
        .example = "pyburn.linalg.diagonal(pyburn.ones(2, 3, 3)).shape",
        .samples = "t(3, 4)\nt(2, 3, 4), offset=1\nt(2, 3, 4), dim1=0, dim2=1\nt(0, 3)\nt(3, 4).T\nt(2, 1).expand(2, 5)\nt() ! dim"},
    {.schema = "linalg_vander(Tensor x, *, int? N=None) -> Tensor",
        .doc = "Builds a Vandermonde matrix of each vector: row i holds the powers of x[i], lowest first.",
        .torch = "torch.linalg.vander",
        .example = "pyburn.linalg.vander(pyburn.tensor([1., 2., 3.]))",
        .samples = R"(
t(3)
t(2, 3), N=4
t(4, 2).T, N=3
t(0), N=2
t(2, 1).expand(2, 3)
t() ! vectors
t(3), N=1 ! greater)"},
    {.schema = "linalg_tensorinv(Tensor A, int ind=2) -> Tensor",
        .doc = "Computes the inverse of a tensor for tensordot over its first ind dimensions.",
        .torch = "torch.linalg.tensorinv",
        .example = "pyburn.linalg.tensorinv(pyburn.eye(6).reshape(6, 2, 3), 1).shape",
        .samples = R"(
t(0, 0), 1
t(1, 1).expand(1, 1), 1
t(4, 2, 2), 1
t(2, 2, 2, 2)
t(2, 2, 4)
t(4, 2, 2).permute(2, 1, 0)
t() ! axes
t(2, 3) ! square
t(2, 2), 0 ! positive)",
        .out = true},
    {.schema = "linalg_tensorsolve(Tensor A, Tensor B, int[]? dims=None) -> Tensor",
        .doc = "Solves tensordot(A, X, X.ndim) = B for X; dims are moved to the end of A first.",
        .torch = "torch.linalg.tensorsolve",
        .example = "pyburn.linalg.tensorsolve(pyburn.eye(6).reshape(6, 2, 3), pyburn.ones(6)).shape",
        .samples = R"(
t(), t()
t(0, 0), t(0)
t(4, 2, 2), t(4)
t(2, 2, 4), t(2, 2)
t(4, 2, 2), t(2, 2), (0,)
t(4, 2, 2).permute(2, 1, 0), t(2, 2)
t(4, 2, 2), t(1).expand(4)
t(3, 2), t(3) ! square)",
        .out = true},
    {.schema = "frobenius_norm(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
        .doc = "Computes the Frobenius norm over dim; by default over all dimensions.",
        .torch = "lambda x, dim=None, keepdim=False: torch.linalg.vector_norm(x, 2, dim, keepdim)",
        .example = "pyburn.frobenius_norm(pyburn.tensor([[3., 0.], [0., 4.]]))",
        .samples = "t(2, 3)\nt()\nt(2, 3, 4), (0, 2), True\nt(2, 3), 1\nt(0, 3)\nt(3, 4).T\nt(2, 1).expand(2, 5)\nt(2, 3), 2 ! range"},
    {.schema = "nuclear_norm(Tensor input, int[] dim=(-2,-1), bool keepdim=False) -> Tensor",
        .doc = "Computes the sum of the singular values of matrices.",
        .torch = "lambda x, dim=(-2, -1), keepdim=False: torch.linalg.matrix_norm(x, 'nuc', dim, keepdim)",
        .example = "pyburn.nuclear_norm(pyburn.tensor([[3., 0.], [0., 4.]]))",
        .samples = "t(2, 3)\nt(2, 3, 4), (0, 2), True\nt(0, 2, 3)\nt(3, 4).T\nt(2, 1).expand(2, 5).constant\nt() ! two axes"},
    {.schema = "cholesky(Tensor input, bool upper=False) -> Tensor",
        .doc = "Computes the Cholesky factorisation of symmetric positive-definite matrices; as linalg.cholesky.",
        .torch = "lambda x, upper=False: torch.linalg.cholesky(x).mT if upper else torch.linalg.cholesky(x)",
        .example = "pyburn.cholesky(pyburn.tensor([[4., 2.], [2., 5.]]))",
        .samples = R"(
tensor([[4., 2., 1.], [2., 5., 3.], [1., 3., 6.]])
tensor([[4., 2., 1.], [2., 5., 3.], [1., 3., 6.]]), True
t(0, 3, 3)
tensor([[4., 2.], [2., 5.]]).T
tensor([[[4., 2.], [2., 5.]]]).expand(2, 2, 2)
t() ! matrices
t(2, 3) ! square)",
        .out = true},
    {.schema = "qr(Tensor input, bool some=True) -> (Tensor Q, Tensor R)",
        .doc = "Computes the QR factorisation input = Q @ R; some=False gives a square Q.",
        .torch = "lambda x, some=True: tuple(torch.linalg.qr(x, 'reduced' if some else 'complete'))",
        .example = "pyburn.qr(pyburn.ones(3, 2)).R.shape",
        .samples = "t(4, 3)\nt(4, 3).constant, False\nt(2, 3, 3)\nt(0, 3, 2)\nt(3, 4).T\nt(1, 4, 3).expand(2, 4, 3)\nt() ! matrices"},
    {.schema = "svd(Tensor input, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
        .doc = "Computes the singular value decomposition input = U @ diag(S) @ V.mT; without compute_uv, U and V are zeros.",
        .example = "pyburn.svd(pyburn.tensor([[0., 2.], [1., 0.]])).S"},
    {.schema = "triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
               "(Tensor solution, Tensor cloned_coefficient)",
        .doc = "Solves A @ X = input for triangular matrices A, or A.mT @ X = input with transpose=True; returns X and a copy of A.",
        .torch = "lambda b, a, *args, **named: tuple(torch.triangular_solve(b, a, *args, **named))",
        .example = "pyburn.triangular_solve(pyburn.ones(2, 1), pyburn.tensor([[2., 0.], [0., 4.]])).solution",
        .samples = R"(
t(3, 2), t(3, 3)
t(3, 2), t(3, 3), upper=False
t(3, 2), t(3, 3), transpose=True
t(3, 2), t(3, 3), unitriangular=True
t(2, 3, 1), t(3, 3)
t(0, 3, 2), t(0, 3, 3)
t(2, 3).T, t(3, 3).T
t(1, 3, 2).expand(2, 3, 2), t(2, 3, 3)
t(), t() ! matrices
t(2, 2), t(3, 3) ! do not match)"},
};

struct Plane {  // the axes of the matrices
  int64_t row, column;
};
Plane plane_of(const TensorHandle& x, const Dims& dim) {
  require(dim.size() == 2 && x.rank() >= 2, "expected two axes of a tensor that has them: got {} for {}", dim, x.shape());
  return {normalise_dim(dim[0], x.rank()), normalise_dim(dim[1], x.rank())};
}

Dims all_axes(const TensorHandle& x) {
  Dims axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

int64_t elements(const Dims& sizes) {
  Checked count = 1;
  for (const int64_t n : sizes) count *= n;
  return count;
}

TensorHandle norm_by_values(const TensorHandle& input, double ord, Plane p, bool keepdim, std::optional<DType> dtype) {
  const TensorHandle x = movedim(dtype ? cast(input, *dtype) : TensorHandle(input), Dims{p.row, p.column}, Dims{-2, -1});
  const TensorHandle values = linalg_svdvals(x);
  const bool none = values.shape().back() == 0;
  const TensorHandle norms = none && ord > 0 ? sum(values, Dims{-1}) : ord > 0 ? amax(values, Dims{-1}) : amin(values, Dims{-1});
  return keepdim ? unsqueeze(unsqueeze(norms, std::min(p.row, p.column)), std::max(p.row, p.column)) : norms;
}

}  // namespace

TensorHandle fn::linalg_matrix_norm(
    const TensorHandle& input, const std::string& ord, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  const Plane p = plane_of(input, dim);
  require<ValueError>(ord == "fro" || ord == "nuc", "ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf: got '{}'", ord);
  return norm(input, std::optional<std::string>(ord), Dims{p.row, p.column}, keepdim, dtype);
}

TensorHandle fn::linalg_matrix_norm(
    const TensorHandle& input, const Scalar& ord, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  const Plane p = plane_of(input, dim);
  const double order = ord.to_double(), size = std::abs(order);
  require<ValueError>(size == 1 || size == 2 || std::isinf(size), "ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf: got {}", order);
  if (size == 2) return norm_by_values(input, order, p, keepdim, dtype);
  const int64_t along = size == 1 ? p.row : p.column, over = size == 1 ? p.column : p.row;
  TensorHandle sums = linalg_vector_norm(input, 1, Dims{along}, true, dtype);
  if (input.shape()[size_t(over)] == 0 && order > 0) {  // no sum is above 0
    Dims one = sums.shape();
    one[size_t(over)] = 1;
    sums = zeros(one, sums.dtype(), &sums.device());
  }
  const TensorHandle best = order > 0 ? amax(sums, Dims{over}, true) : amin(sums, Dims{over}, true);
  return keepdim ? best : squeeze(best, Dims{p.row, p.column});
}

TensorHandle fn::linalg_norm(
    const TensorHandle& input, const std::optional<Scalar>& ord, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
  if (!ord) return linalg_vector_norm(input, 2, dim, keepdim, dtype);
  const bool matrices = dim ? dim->size() == 2 : input.rank() == 2;
  if (matrices) return linalg_matrix_norm(input, *ord, dim.value_or(Dims{-2, -1}), keepdim, dtype);
  return linalg_vector_norm(input, *ord, dim, keepdim, dtype);
}
TensorHandle fn::linalg_norm(
    const TensorHandle& input, const std::string& ord, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype) {
  return linalg_matrix_norm(input, ord, dim.value_or(all_axes(input)), keepdim, dtype);
}

TensorHandle fn::linalg_cond(const TensorHandle& input, const std::optional<Scalar>& p) {
  const double order = p ? p->to_double() : 2;
  if (std::abs(order) == 2) {
    require(input.rank() >= 2, "expected matrices: got {}", input.shape());
    const TensorHandle values = linalg_svdvals(input), largest = amax(values, Dims{-1}), smallest = amin(values, Dims{-1});
    return order > 0 ? largest / smallest : smallest / largest;
  }
  return linalg_matrix_norm(input, *p) * linalg_matrix_norm(linalg_inv(input), *p);
}
TensorHandle fn::linalg_cond(const TensorHandle& input, const std::string& p) {
  return linalg_matrix_norm(input, p) * linalg_matrix_norm(linalg_inv(input), p);
}

TensorHandle fn::linalg_cross(const TensorHandle& input, const TensorHandle& other, int64_t dim) {
  const auto fits = [&](const TensorHandle& x) { return x.rank() > 0 && x.shape()[size_t(normalise_dim(dim, x.rank()))] == 3; };
  require(input.rank() == other.rank() && fits(input) && fits(other), "expected size 3 in dimension {}: got {} and {}", dim, input.shape(),
      other.shape());
  return cross(input, other, dim);
}
TensorHandle fn::linalg_diagonal(const TensorHandle& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return diagonal(A, offset, dim1, dim2);
}
TensorHandle fn::linalg_vander(const TensorHandle& x, std::optional<int64_t> N) {
  require(x.rank() > 0 || N, "expected vectors: got a 0-d tensor");
  const int64_t n = N ? *N : x.shape().back();
  require<ValueError>(n > 1, "expected N greater than 1: got {}", n);
  Dims size = x.shape();
  size.push_back(n);
  return reshape(vander(reshape(x, Dims{-1}), n, true), size);
}

TensorHandle fn::linalg_tensorinv(const TensorHandle& A, int64_t ind) {
  require<ValueError>(ind > 0, "expected a strictly positive integer for ind: got {}", ind);
  require(ind <= A.rank(), "expected at least {} axes, as ind says: got {}", ind, A.shape());
  Dims first, last;
  for (int64_t i = 0; i < A.rank(); ++i) (i < ind ? first : last).push_back(A.shape()[size_t(i)]);
  const TensorHandle inverse = linalg_inv(reshape(A, Dims{elements(first), elements(last)}));
  for (const int64_t n : first) last.push_back(n);
  return reshape(inverse, last);
}
TensorHandle fn::linalg_tensorsolve(const TensorHandle& A, const TensorHandle& B, const OptionalDims& dims) {
  TensorHandle a = A;
  if (dims) {
    Dims last;
    for (int64_t i = -int64_t(dims->size()); i < 0; ++i) last.push_back(i);
    a = movedim(A, *dims, last);
  }
  require(a.rank() >= B.rank(), "A and B do not fit: got {} and {}", A.shape(), B.shape());
  Dims rest;
  for (int64_t i = B.rank(); i < a.rank(); ++i) rest.push_back(a.shape()[size_t(i)]);
  return reshape(linalg_solve(reshape(a, Dims{B.numel(), elements(rest)}), reshape(B, Dims{B.numel()})), rest);
}

TensorHandle fn::frobenius_norm(const TensorHandle& input, const OptionalDims& dim, bool keepdim) {
  return linalg_vector_norm(input, 2, dim && dim->empty() ? OptionalDims() : dim, keepdim);
}
TensorHandle fn::nuclear_norm(const TensorHandle& input, const Dims& dim, bool keepdim) {
  return linalg_matrix_norm(input, std::string("nuc"), dim, keepdim);
}

TensorHandle fn::cholesky(const TensorHandle& input, bool upper) { return linalg_cholesky(upper ? t_of(input) : input, upper); }
Handles<2> fn::qr(const TensorHandle& input, bool some) { return linalg_qr(input, some ? "reduced" : "complete"); }
Handles<3> fn::svd(const TensorHandle& input, bool some, bool compute_uv) {
  if (compute_uv) {
    const auto [u, s, vh] = linalg_svd(input, !some);
    return {u, s, t_of(vh)};
  }
  const TensorHandle s = linalg_svdvals(input);
  const auto nothing = [&](int64_t n) { return zeros(with_batch(batch_of(input), {n, n}), input.dtype(), &input.device()); };
  return {nothing(input.shape()[input.rank() - 2]), s, nothing(input.shape()[input.rank() - 1])};
}
Handles<2> fn::triangular_solve(const TensorHandle& input, const TensorHandle& A, bool upper, bool transpose, bool unitriangular) {
  require(input.rank() >= 2 && A.rank() >= 2, "expected matrices: got {} and {}", A.shape(), input.shape());
  TensorHandle a = A, b = input;
  stretch(a, b);
  return {linalg_solve_triangular(transpose ? t_of(a) : a, b, upper != transpose, true, unitriangular), clone(a)};
}

void register_matrix_functions(OpTable& table) { table.add(functions); }

}  // namespace pyburn
