// Functions in terms of LU and other factors: factors and what is solved with them, forms that report failures instead of raising them,
// reflections, and factorisations of low rank.
#include "pyburn/ops/generated/factor_functions.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/linalg.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/solvers.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/matrices.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
        .doc = "Computes the compact LU factorisation of matrices: both factors in one tensor, and 1-based pivots.",
        .torch = "lambda a: tuple(torch.linalg.lu_factor(a))",
        .example = "pyburn.linalg.lu_factor(pyburn.tensor([[0., 2.], [1., 0.]])).pivots",
        .samples = "t(3, 3)\nt(4, 3)\nt(2, 3, 4)\nt(0, 3, 3)\nt(3, 3).T\nt(1, 3, 3).expand(2, 3, 3).constant\nt() ! matrices\nt(3, 3), "
                   "pivot=False "
                   "! exchanges"},
    {.schema = "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
        .doc = "Computes the compact LU factorisation, and the 1-based place of the first pivot that is 0, or 0.",
        .torch = "lambda a, **named: tuple(torch.linalg.lu_factor_ex(a, **named))",
        .example = "pyburn.linalg.lu_factor_ex(pyburn.zeros(2, 2)).info",
        .samples = "t(3, 3)\nt(3, 3), check_errors=True\nt(2, 3, 4)\nt(0, 3, 3)\nt(3, 3).T\nt(1, 3, 3).expand(2, 3, 3)\nt() ! "
                   "matrices\ntensor([[0., 0.], [0., 0.]]), "
                   "check_errors=True ! a pivot is 0"},
    {.schema = "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
        .doc = "Computes the factors of A = P @ L @ U: a permutation, a unit lower and an upper triangular matrix.",
        .torch = "lambda a: tuple(torch.linalg.lu(a))",
        .example = "pyburn.linalg.lu(pyburn.tensor([[0., 2.], [1., 0.]])).P",
        .samples = "t(3, 3)\nt(4, 3)\nt(2, 3, 4)\nt(0, 3, 3)\nt(3, 3).T\nt(1, 3, 3).expand(2, 3, 3)\nt() ! matrices"},
    {.schema = "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> "
               "(Tensor P, Tensor L, Tensor U)",
        .doc = "Unpacks a compact LU factorisation into A = P @ L @ U; parts that are not wanted are empty.",
        .torch = "lambda lu, pivots, *args, **named: tuple(torch.lu_unpack(lu, pivots, *args, **named))",
        .example = "pyburn.lu_unpack(*pyburn.linalg.lu_factor(pyburn.tensor([[0., 2.], [1., 0.]]))).L",
        .samples = R"(
t(3, 3), tensor([2, 3, 3], dtype=i32)
t(4, 3), tensor([2, 4, 3], dtype=i32)
t(2, 2, 3), tensor([[1, 2], [2, 2]], dtype=i32)
t(3, 3).constant, tensor([2, 3, 3], dtype=i32), unpack_data=False
t(3, 3), tensor([2, 3, 3], dtype=i32), unpack_pivots=False
t(3, 3).T, tensor([2, 3, 3], dtype=i32)
t(1, 2, 2).expand(2, 2, 2), tensor([[1, 2], [2, 2]], dtype=i32)
t(0, 3, 3), tensor([2, 3, 3], dtype=i32).expand(0, 3)
t(), tensor([1], dtype=i32) ! matrices
t(3, 3), tensor([9, 9, 9], dtype=i32) ! pivots
t(3, 3), tensor([1, 2, 3]) ! int32)"},
    {.schema = "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
        .doc = "Solves A @ X = B by the LU factors of A; X @ A = B with left=False, and with the transpose of A with adjoint=True.",
        .torch = "torch.linalg.lu_solve",
        .example = "pyburn.linalg.lu_solve(*pyburn.linalg.lu_factor(2 * pyburn.eye(2)), pyburn.ones(2, 1))",
        .samples = R"(
t(3, 3), tensor([2, 3, 3], dtype=i32), t(3, 2)
t(3, 3), tensor([2, 3, 3], dtype=i32), t(2, 3), left=False
t(3, 3), tensor([2, 3, 3], dtype=i32), t(3, 2), adjoint=True
t(3, 3), tensor([2, 3, 3], dtype=i32), t(2, 2, 3), left=False, adjoint=True
t(3, 3).T, tensor([2, 3, 3], dtype=i32), t(2, 3).T
t(3, 3), tensor([2, 3, 3], dtype=i32), t(3, 1).expand(3, 2)
t(0, 3, 3), tensor([2, 3, 3], dtype=i32).expand(0, 3), t(0, 3, 2)
t(3, 3), tensor([2, 3, 3], dtype=i32), t(2, 2) ! incompatible shapes
t(), tensor([1], dtype=i32), t() ! square
t(3, 2), tensor([2, 3, 3], dtype=i32), t(3, 2) ! square)",
        .out = true},
    {.schema = "lu_solve(Tensor input, Tensor LU_data, Tensor LU_pivots) -> Tensor",
        .doc = "Solves A @ X = input by the LU factors of A; as linalg.lu_solve.",
        .torch = "torch.lu_solve",
        .example = "pyburn.lu_solve(pyburn.ones(2, 1), *pyburn.linalg.lu_factor(2 * pyburn.eye(2)))",
        .samples = R"(
t(3, 2), t(3, 3), tensor([2, 3, 3], dtype=i32)
t(2, 3).T, t(3, 3).T, tensor([2, 3, 3], dtype=i32)
t(3, 1).expand(3, 2), t(3, 3), tensor([2, 3, 3], dtype=i32)
t(0, 3, 2), t(0, 3, 3), tensor([2, 3, 3], dtype=i32).expand(0, 3)
t(), t(), tensor([1], dtype=i32) ! square
t(2, 2), t(3, 3), tensor([2, 3, 3], dtype=i32) ! incompatible shapes)",
        .out = true},
    {.schema = "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
        .doc =
            "Computes the inverse of square matrices, and whether each one is singular: then info is positive and the inverse is that of "
            "the identity.",
        .torch = "lambda a, **named: tuple(torch.linalg.inv_ex(a, **named))",
        .example = "pyburn.linalg.inv_ex(2 * pyburn.eye(2)).inverse",
        .samples = "t(3, 3)\nt(3, 3), check_errors=True\nt(2, 3, 3)\nt(0, 3, 3)\nt(3, 3).T\nt(1, 3, 3).expand(2, 3, 3)\nt() ! square\nt(2, "
                   "3) ! square\ntensor([[0., 0.], [0., 0.]]), "
                   "check_errors=True ! singular"},
    {.schema = "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
        .doc = "Solves A @ X = B, and reports whether each A is singular: then info is positive and A counts as the identity.",
        .torch = "lambda a, b, **named: tuple(torch.linalg.solve_ex(a, b, **named))",
        .example = "pyburn.linalg.solve_ex(2 * pyburn.eye(2), pyburn.ones(2, 1)).result",
        .samples = "t(3, 3), t(3, 2)\nt(3, 3), t(2, 3), left=False\nt(2, 3, 3), t(2, 3), check_errors=True\nt(0, 3, 3), t(0, 3, 2)\nt(3, "
                   "3).T, t(2, 3).T\nt(3, 3), "
                   "t(3, 1).expand(3, 2)\nt(), t() ! square"},
    {.schema = "linalg_cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
        .doc = "Computes the Cholesky factorisation, and the order of the first minor that is not positive-definite, or 0; then the factor "
               "is that of the identity.",
        .torch = "lambda a, **named: tuple(torch.linalg.cholesky_ex(a, **named))",
        .example = "pyburn.linalg.cholesky_ex(-pyburn.eye(2)).info",
        .samples = R"(
tensor([[4., 2., 1.], [2., 5., 3.], [1., 3., 6.]])
tensor([[4., 2.], [2., 5.]]), upper=True, check_errors=True
t(0, 3, 3)
tensor([[4., 2.], [2., 5.]]).T
tensor([[[4., 2.], [2., 5.]]]).expand(2, 2, 2)
t() ! square
t(2, 3) ! square
tensor([[1., 2.], [2., 1.]]), check_errors=True ! positive-definite)"},
    {.schema = "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
        .doc = "Computes the first columns of a product of Householder reflections, as geqrf returns them.",
        .torch = "torch.linalg.householder_product",
        .example = "pyburn.linalg.householder_product(pyburn.eye(3), pyburn.zeros(3))",
        .samples = R"(
t(4, 3), t(3)
t(4, 3), t(2)
t(2, 4, 3), t(2, 3)
t(3, 4).T, t(3)
t(1, 4, 3).expand(2, 4, 3), t(2, 3)
t(0, 4, 3), t(0, 3)
t(), t() ! do not fit
t(3, 4), t(3) ! do not fit
t(4, 3), t(4) ! do not fit)",
        .out = true},
    {.schema = "svd_lowrank(Tensor A, int? q=6, int? niter=2, Tensor? M=None) -> (Tensor U, Tensor S, Tensor V)",
        .doc = "Computes an approximate singular value decomposition of rank q of A - M, from a random start.",
        .example = "pyburn.svd_lowrank(pyburn.eye(3), 1).S.shape"},
    {.schema = "pca_lowrank(Tensor A, int? q=None, bool center=True, int niter=2) -> (Tensor U, Tensor S, Tensor V)",
        .doc = "Computes approximate principal components of the rows of A, which are centred first; from a random start.",
        .example = "pyburn.pca_lowrank(pyburn.eye(4), 2).S.shape"},
};

void require_exchanges(bool pivot) { require<UnsupportedOp>(pivot, "LU without exchanges of rows is not implemented: got pivot=False"); }
void require_success(const TensorHandle& info, bool check_errors, const char* what) {
  require<ValueError>(!check_errors || info.numel() == 0 || read_number(sum(ne(info, 0))) == 0, "{}: got a positive info", what);
}

TensorHandle first_zero_pivot(const TensorHandle& factors) {
  const TensorHandle zero = eq(diagonal(detach(factors), 0, -2, -1), 0);
  Dims batch = batch_of(factors);
  if (zero.shape().back() == 0) return zeros(batch, DType::int32, &factors.device());
  const TensorHandle first = argmax(cast(zero, DType::int32), -1) + 1;
  return cast(where(any(zero, Dims{-1}), first, 0), DType::int32);
}

// The order of the rows after the exchanges that pivots stand for: (*, rows).
TensorHandle order_of(const TensorHandle& pivots, int64_t rows) {
  const int64_t each = pivots.shape().back(), count = each ? pivots.numel() / each : 0;
  const std::vector<std::byte> bytes = host_bytes(detach(pivots));
  const auto* given = reinterpret_cast<const int32_t*>(bytes.data());
  Dims size = pivots.shape();
  size.back() = rows;
  const Shape shape(size);
  std::vector<int64_t> orders(size_t(shape.numel()));
  for (int64_t k = 0; k < (each ? count : (rows ? shape.numel() / rows : 0)); ++k) {
    int64_t* order = orders.data() + k * rows;
    std::iota(order, order + rows, int64_t(0));
    for (int64_t i = 0; i < each; ++i) {
      const int64_t j = given[k * each + i];
      require<IndexError>(1 <= j && j <= rows, "expected pivots from 1 to {}: got {}", rows, j);
      std::swap(order[i], order[j - 1]);
    }
  }
  return from_host(pivots.device(), {orders.data(), {shape, DType::int64}});
}

// A, with the identity in place of the matrices that failed.
TensorHandle regular(const TensorHandle& A, const TensorHandle& info) {
  if (info.numel() == 0) return A;
  return where(unsqueeze(unsqueeze(ne(info, 0), -1), -1), identity_like(A, A.shape().back()), A);
}

int first_minor(const TensorHandle& matrix) {
  for (int64_t order = 1; order <= matrix.shape()[0]; ++order) {
    try {
      linalg_cholesky(narrow(narrow(matrix, 0, 0, order), 1, 0, order));
    } catch (const ValueError&) {
      return int(order);
    }
  }
  return 0;
}

}  // namespace

Handles<2> fn::linalg_lu_factor(const TensorHandle& A, bool pivot) {
  require_exchanges(pivot);
  return _linalg_lu(A);
}
Handles<3> fn::linalg_lu_factor_ex(const TensorHandle& A, bool pivot, bool check_errors) {
  const auto [factors, pivots] = linalg_lu_factor(A, pivot);
  const TensorHandle info = first_zero_pivot(factors);
  require_success(info, check_errors, "a pivot is 0");
  return {factors, pivots, info};
}
Handles<3> fn::lu_unpack(const TensorHandle& LU_data, const TensorHandle& LU_pivots, bool unpack_data, bool unpack_pivots) {
  require<DTypeError>(LU_pivots.dtype() == DType::int32, "expected pivots of int32: got {}", LU_pivots.dtype());
  require(LU_data.rank() >= 2 && LU_pivots.rank() >= 1, "expected matrices: got {}", LU_data.shape());
  const int64_t rows = LU_data.shape()[LU_data.rank() - 2], least = std::min(rows, LU_data.shape().back());
  const Shape expected = with_batch(batch_of(LU_data), {least});
  require(LU_pivots.shape() == expected, "expected pivots of shape {}: got {}", expected, LU_pivots.shape());
  const auto none = [&] { return zeros(Dims{0}, LU_data.dtype(), &LU_data.device()); };
  TensorHandle p = none(), l = none(), u = none();
  if (unpack_pivots) {
    const TensorHandle one = identity_like(LU_data, rows);  // first: it raises where the rows are too many
    const TensorHandle order = order_of(LU_pivots, rows);
    const TensorHandle chosen = index_select(one, 0, reshape(order, Dims{-1}));
    p = clone(t_of(reshape(chosen, with_batch(order.shape(), {rows}))));
  }
  if (unpack_data) {
    l = tril(narrow(LU_data, -1, 0, least), -1) + eye(rows, least, LU_data.dtype(), &LU_data.device());
    u = triu(narrow(LU_data, -2, 0, least));
  }
  return {p, l, u};
}
Handles<3> fn::linalg_lu(const TensorHandle& A, bool pivot) {
  const auto [factors, pivots] = linalg_lu_factor(A, pivot);
  return lu_unpack(factors, pivots);
}

TensorHandle fn::linalg_lu_solve(const TensorHandle& LU, const TensorHandle& pivots, const TensorHandle& B, bool left, bool adjoint) {
  const int64_t n = square_extent(LU);
  require(B.rank() >= 2, "expected a matrix: got {}", B.shape());
  if (!left) return independent(t_of(linalg_lu_solve(LU, pivots, t_of(B), true, !adjoint)));  // X A = B is A.mT X.mT = B.mT
  Shape of_rows = LU.shape();
  of_rows.pop_back();
  require(B.shape()[B.rank() - 2] == n && pivots.shape() == of_rows, "factors, pivots and B have incompatible shapes: got {}, {} and {}",
      LU.shape(), pivots.shape(), B.shape());
  TensorHandle lu = LU, b = B;
  stretch(lu, b);
  const TensorHandle order = expand(order_of(pivots, n), with_batch(batch_of(b), {n}));
  const auto reordered = [&](const TensorHandle& x, const TensorHandle& rows) {
    return gather(x, -2, expand(unsqueeze(rows, -1), x.shape()));
  };
  if (!adjoint) return linalg_solve_triangular(lu, linalg_solve_triangular(lu, reordered(b, order), false, true, true), true);
  const TensorHandle x = linalg_solve_triangular(t_of(lu), linalg_solve_triangular(t_of(lu), b, false), true, true, true);
  return reordered(x, argsort(order));
}
TensorHandle fn::lu_solve(const TensorHandle& input, const TensorHandle& LU_data, const TensorHandle& LU_pivots) {
  return linalg_lu_solve(LU_data, LU_pivots, input);
}

Handles<2> fn::linalg_inv_ex(const TensorHandle& A, bool check_errors) {
  square_extent(A);
  const TensorHandle info = linalg_lu_factor_ex(detach(A))[2];
  require_success(info, check_errors, "the input matrix is singular");
  return {linalg_inv(regular(A, info)), info};
}
Handles<2> fn::linalg_solve_ex(const TensorHandle& A, const TensorHandle& B, bool left, bool check_errors) {
  square_extent(A);
  const TensorHandle info = linalg_lu_factor_ex(detach(A))[2];
  require_success(info, check_errors, "the input matrix is singular");
  return {linalg_solve(regular(A, info), B, left), info};
}
Handles<2> fn::linalg_cholesky_ex(const TensorHandle& A, bool upper, bool check_errors) {
  const int64_t n = square_extent(A);
  Dims batch = batch_of(A);
  try {
    return {linalg_cholesky(A, upper), zeros(batch, DType::int32, &A.device())};
  } catch (const ValueError&) {
    const TensorHandle matrices = reshape(detach(A), Dims{-1, n, n});
    std::vector<int32_t> minors;
    for (int64_t i = 0; i < matrices.shape()[0]; ++i) minors.push_back(first_minor(select(matrices, 0, i)));
    const TensorHandle info = from_host(A.device(), {minors.data(), {Shape(batch), DType::int32}});
    require_success(info, check_errors, "the input is not positive-definite");
    return {linalg_cholesky(regular(A, info), upper), info};
  }
}

TensorHandle fn::linalg_householder_product(const TensorHandle& input, const TensorHandle& tau) {
  require(input.rank() >= 2 && tau.rank() == input.rank() - 1, "input and tau do not fit: got {} and {}", input.shape(), tau.shape());
  const int64_t rows = input.shape()[input.rank() - 2], columns = input.shape().back(), count = tau.shape().back();
  Shape batch = tau.shape();
  batch.pop_back();
  require(rows >= columns && count <= columns && batch == batch_of(input), "input and tau do not fit: got {} and {}", input.shape(),
      tau.shape());
  const TensorHandle one = eye(rows, columns, input.dtype(), &input.device()), vectors = tril(input, -1) + one;
  TensorHandle product = expand(one, input.shape());
  for (int64_t k = count - 1; k >= 0; --k) {
    const TensorHandle v = narrow(vectors, -1, k, 1), scale = unsqueeze(narrow(tau, -1, k, 1), -1);
    product = product - scale * matmul(v, matmul(t_of(v), product));
  }
  return clone(product);
}

Handles<3> fn::svd_lowrank(const TensorHandle& A, std::optional<int64_t> q, std::optional<int64_t> niter, const TensorHandle& M) {
  require(A.rank() >= 2, "expected matrices: got {}", A.shape());
  const TensorHandle a = M.defined() ? A - expand(M, A.shape()) : TensorHandle(A);
  if (a.shape()[a.rank() - 2] < a.shape().back()) {
    const auto [u, s, v] = svd_lowrank(t_of(a), q, niter);
    return {v, s, u};
  }
  TensorHandle basis = linalg_qr(matmul(a, randn(Dims{a.shape().back(), q.value_or(6)}, a.dtype(), &a.device())))[0];
  for (int64_t i = 0; i < niter.value_or(2); ++i) basis = linalg_qr(matmul(a, linalg_qr(matmul(t_of(a), basis))[0]))[0];
  const auto [u, s, vh] = linalg_svd(matmul(t_of(basis), a), false);
  return {matmul(basis, u), s, t_of(vh)};
}
Handles<3> fn::pca_lowrank(const TensorHandle& A, std::optional<int64_t> q, bool center, int64_t niter) {
  require(A.rank() >= 2, "expected matrices: got {}", A.shape());
  const int64_t most = std::min(A.shape()[A.rank() - 2], A.shape().back()), rank = q.value_or(std::min<int64_t>(6, most));
  require<ValueError>(0 <= rank && rank <= most, "expected q from 0 to {}: got {}", most, rank);
  require<ValueError>(niter >= 0, "expected niter of at least 0: got {}", niter);
  return svd_lowrank(center ? A - mean(A, Dims{-2}, true) : A, rank, niter);
}

void register_factor_functions(OpTable& table) { table.add(functions); }

}  // namespace pyburn
