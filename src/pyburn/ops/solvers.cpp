// What is made of factorisations: inverses, determinants, ranks, powers.
#include "pyburn/ops/generated/solvers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/linalg.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/linalg.h"
#include "pyburn/ops/matrices.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/fault.h"

namespace pyburn {

Pinv Pinv::from(const TensorHandle& A, std::optional<double> atol, std::optional<double> rtol) {
  require(A.rank() >= 2, "expected matrices: got {}", A.shape());
  require<DTypeError>(A.dtype() == DType::float32 || A.dtype() == DType::float64, "expected float32 or float64: got {}", A.dtype());
  const double epsilon =
      A.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon() : double(std::numeric_limits<float>::epsilon());
  const double rounding = double(std::max(A.shape()[A.rank() - 1], A.shape()[A.rank() - 2])) * epsilon;
  return {atol.value_or(0), rtol.value_or(atol.value_or(0) > 0 ? 0 : rounding)};
}

namespace {

// The lower triangle and its mirror image; the gradient is that of the whole matrix.
TensorHandle symmetric(const TensorHandle& A) {
  square_extent(A);
  return A + detach(tril(A) + t_of(tril(A, -1)) - A);
}
// max(atol, rtol * largest) for each matrix; undefined tolerances have the defaults of Pinv.
TensorHandle thresholds(const TensorHandle& A, const TensorHandle& values, const TensorHandle& atol, const TensorHandle& rtol) {
  const auto column = [&](const TensorHandle& tolerance) { return unsqueeze(cast(tolerance, values.dtype()), -1); };
  const auto number = [&](double n) { return full(Dims{}, n, values.dtype(), &values.device()); };
  const double rounding = Pinv::from(A, {}, {}).rtol;
  const TensorHandle absolute = column(atol.defined() ? atol : number(0));
  const TensorHandle relative = rtol.defined() ? column(rtol) : where(gt(absolute, 0), 0.0, number(rounding));
  const TensorHandle largest = values.shape().back() ? amax(values, Dims{-1}, true) : values;
  return maximum(absolute, relative * largest);
}
// The singular values that count, and 0 for the others.
TensorHandle counted(const TensorHandle& s, const Pinv& a) {
  if (s.shape().back() == 0) return s;
  const TensorHandle largest = amax(s, Dims{-1}, true);
  return where(gt(s, maximum(largest * a.rtol, a.atol)), s, 0.0);
}

Meta infer_pinv(const Pinv&, Metas in) {
  Shape shape = in[0].shape;
  require(shape.rank() >= 2, "expected matrices: got {}", shape);
  std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
  return {shape, in[0].dtype};
}
// -P dA P, and what changes of the spaces that A and its transpose leave out.
Grads grad_pinv(const Pinv&, const GradContext& c) {
  const TensorHandle a = c.input(0), p = c.output(), g = t_of(c.dy()), pt = t_of(p);
  const int64_t m = a.shape()[a.rank() - 2], n = a.shape()[a.rank() - 1];
  const TensorHandle left = identity_like(a, m) - matmul(a, p), right = identity_like(a, n) - matmul(p, a);
  const TensorHandle through = -matmul(pt, matmul(t_of(g), pt));
  return {through + matmul(left, matmul(g, matmul(p, pt))) + matmul(pt, matmul(p, matmul(g, right)))};
}
TensorHandle pinv_by_svd(const Pinv& a, Inputs in) {
  const auto [u, s, vh] = linalg_svd(*in[0], false);
  const TensorHandle kept = counted(s, a), inverse = where(eq(kept, 0), 0.0, 1.0 / where(eq(kept, 0), 1.0, kept));
  return matmul(t_of(vh) * unsqueeze(inverse, -2), t_of(u));
}

}  // namespace

namespace op {
constinit OpInfo _linalg_pinv =
    define<Pinv, infer_pinv, grad_pinv, pinv_by_svd>({.schema = "_linalg_pinv(Tensor A, *, float? atol=None, float? rtol=None) -> Tensor",
        .doc = "Computes the Moore-Penrose pseudoinverse.",
        .saves = inputs | outputs,
        .torch = "torch.linalg.pinv",
        .example = "pyburn.linalg.pinv(pyburn.tensor([[2., 0.], [0., 4.], [0., 0.]]))",
        .samples = R"(
t(4, 3)
t(3, 4)
t(2, 3, 3)
t(4, 3), rtol=0.01
t(4, 3), atol=0.01
t(0, 3, 2)
t(3, 4).T
t(1, 4, 3).expand(2, 4, 3)
t(4, 3, dtype=f64)
tensor([[1., 2.], [2., 4.], [3., 6.]])
t() ! matrices
t(3, 3, dtype=i64) ! float32)"});
}  // namespace op

namespace {

constexpr const char* kSquare = R"(
t(3, 3)
t(2, 3, 3)
t(1, 1)
t(0, 0)
t(0, 3, 3)
t(3, 3).T
t(1, 3, 3).expand(2, 3, 3)
t(3, 3, dtype=f64)
t() ! matrices
t(2, 3) ! square
t(3, 3, dtype=i64) ! float32)";
constexpr const char* kAny = R"(
t(3, 3)
t(2, 4, 3)
t(3, 4)
t(0, 3, 2)
t(3, 4).T
t(1, 4, 3).expand(2, 4, 3)
t(4, 3, dtype=f64)
t() ! matrices
t(3, 3, dtype=i64) ! float32)";
constexpr const char* kPowers = R"(
t(3, 3), 3
t(2, 3, 3), 2
t(3, 3), 0
t(3, 3), 1
t(3, 3), -2
t(0, 3, 3), 3
t(3, 3).T, 5
t(1, 3, 3).expand(2, 3, 3), 2
t(3, 3, dtype=f64), 4
t(), 2 ! matrices
t(2, 3), 2 ! square)";
constexpr const char* kFactors = R"(
t(3, 2), tensor([[2., 0., 0.], [1., 3., 0.], [1., 2., 4.]])
t(3, 2), tensor([[2., 1., 1.], [0., 3., 2.], [0., 0., 4.]]), True
t(2, 3, 1), tensor([[[2., 0., 0.], [1., 3., 0.], [1., 2., 4.]]]).expand(2, 3, 3)
t(0, 3, 2), t(0, 3, 3)
t(2, 3).T, tensor([[2., 0., 0.], [1., 3., 0.], [1., 2., 4.]])
t(3, 2, dtype=f64), tensor([[2., 0., 0.], [1., 3., 0.], [1., 2., 4.]], dtype=f64)
t(), t(3, 3) ! matrices
t(2, 2), t(3, 3) ! do not match)";

constinit FunctionInfo functions[] = {
    {.schema = "linalg_inv(Tensor A) -> Tensor",
        .doc = "Computes the inverse of square matrices; a singular matrix raises an error.",
        .torch = "torch.linalg.inv",
        .example = "pyburn.linalg.inv(pyburn.tensor([[2., 0.], [0., 4.]]))",
        .samples = kSquare,
        .out = true},
    {.schema = "inverse(Tensor input) -> Tensor",
        .doc = "Computes the inverse of square matrices; alias of linalg.inv.",
        .example = "pyburn.inverse(pyburn.tensor([[2., 0.], [0., 4.]]))",
        .samples = kSquare,
        .out = true},
    {.schema = "linalg_det(Tensor A) -> Tensor",
        .doc = "Computes the determinant of square matrices. The gradient requires non-singular matrices.",
        .torch = "torch.linalg.det",
        .example = "pyburn.linalg.det(pyburn.tensor([[2., 0.], [0., 4.]]))",
        .samples = kSquare,
        .out = true},
    {.schema = "det(Tensor input) -> Tensor",
        .doc = "Computes the determinant of square matrices; alias of linalg.det.",
        .example = "pyburn.det(pyburn.tensor([[2., 0.], [0., 4.]]))",
        .samples = kSquare},
    {.schema = "slogdet(Tensor input) -> (Tensor sign, Tensor logabsdet)",
        .doc = "Computes the sign and log-determinant of square matrices; alias of linalg.slogdet.",
        .example = "pyburn.slogdet(pyburn.tensor([[0., 2.], [1., 0.]]))",
        .samples = kSquare},
    {.schema = "logdet(Tensor input) -> Tensor",
        .doc = "Computes the logarithm of the determinant of square matrices; NaN where it is negative.",
        .example = "pyburn.logdet(pyburn.tensor([[2., 0.], [0., 4.]]))",
        .samples = R"(
tensor([[2., 1.], [0.5, 3.]])
tensor([[[2., 1.], [0.5, 3.]], [[1., 1.], [0.5, 3.]]])
tensor([[0., 1.], [1., 0.]]).constant
t(0, 3, 3)
tensor([[2., 1.], [0.5, 3.]]).T
tensor([[[2., 1.], [0.5, 3.]]]).expand(2, 2, 2)
t() ! matrices
t(2, 3) ! square)"},
    {.schema = "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
        .doc = "Solves A @ X = B (X @ A = B with left=False) for square matrices A. B may be a vector or a batch of vectors; batch "
               "dimensions broadcast.",
        .torch = "torch.linalg.solve",
        .example = "pyburn.linalg.solve(pyburn.tensor([[2., 0.], [0., 4.]]), pyburn.tensor([1., 1.]))",
        .samples = R"(
t(3, 3), t(3, 2)
t(3, 3), t(3)
t(2, 3, 3), t(2, 3)
t(3, 3), t(2, 3), left=False
t(2, 3, 3), t(3, 2)
t(3, 3), t(2, 3, 1)
t(0, 3, 3), t(0, 3, 2)
t(3, 3).T, t(2, 3).T
t(3, 3), t(3, 1).expand(3, 2)
t(3, 3, dtype=f64), t(3, 2, dtype=f64)
t(), t(2) ! matrices
t(3, 2), t(3, 2) ! square
t(3, 3), t(2, 2) ! do not match)",
        .out = true},
    {.schema = "cholesky_solve(Tensor input, Tensor L, bool upper=False) -> Tensor",
        .doc = "Solves A @ X = input, given the Cholesky factor L of A.",
        .torch = "lambda b, l, upper=False: torch.cholesky_solve(b, l.triu() if upper else l.tril(), upper)",
        .example = "pyburn.cholesky_solve(pyburn.ones(2, 1), pyburn.tensor([[2., 0.], [1., 2.]]))",
        .samples = kFactors,
        .out = true},
    {.schema = "cholesky_inverse(Tensor input, bool upper=False) -> Tensor",
        .doc = "Computes the inverse of a matrix from its Cholesky factor.",
        .torch = "lambda l, upper=False: torch.cholesky_inverse(l.triu() if upper else l.tril(), upper)",
        .example = "pyburn.cholesky_inverse(pyburn.tensor([[2., 0.], [1., 2.]]))",
        .samples = R"(
tensor([[2., 0., 0.], [1., 3., 0.], [1., 2., 4.]])
tensor([[2., 1., 1.], [0., 3., 2.], [0., 0., 4.]]), True
t(0, 3, 3)
tensor([[2., 1., 1.], [0., 3., 2.], [0., 0., 4.]]).T
tensor([[[2., 0.], [1., 3.]]]).expand(2, 2, 2)
t() ! matrices
t(2, 3) ! square)",
        .out = true},
    {.schema = "linalg_eigvalsh(Tensor A, str UPLO='L') -> Tensor",
        .doc = "Computes the eigenvalues of symmetric matrices in ascending order.",
        .torch = "torch.linalg.eigvalsh",
        .example = "pyburn.linalg.eigvalsh(pyburn.tensor([[2., 0.], [0., 1.]]))",
        .samples = R"(
tensor([[4., 2., 1.], [2., -5., 3.], [1., 3., 6.]])
tensor([[4., 2., 1.], [2., -5., 3.], [1., 3., 6.]]), 'U'
t(4, 4).constant, UPLO='u'
t(4, 4).constant
tensor([[[4., 2.], [2., 5.]], [[1., 0.5], [0.5, 2.]]])
t(0, 0)
t(0, 3, 3)
tensor([[4., 2.], [2., 5.]]).T
tensor([[[4., 2.], [2., 5.]]]).expand(2, 2, 2)
tensor([[4., 2.], [2., 5.]], dtype=f64)
t() ! matrices
t(2, 3) ! square
t(2, 2), 'X' ! UPLO
tensor([[nan, 1.], [1., 1.]]) ! finite)",
        .out = true},
    {.schema = "linalg_svdvals(Tensor A) -> Tensor",
        .doc = "Computes the singular values of matrices in descending order.",
        .torch = "torch.linalg.svdvals",
        .example = "pyburn.linalg.svdvals(pyburn.tensor([[0., 2.], [1., 0.]]))",
        .samples = kAny,
        .out = true},
    {.schema = "linalg_pinv(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
        .doc = "Computes the Moore-Penrose pseudoinverse. Singular values up to max(atol, rtol * largest) count as 0.",
        .torch = "torch.linalg.pinv",
        .example = "pyburn.linalg.pinv(pyburn.tensor([[2., 0.], [0., 4.], [0., 0.]]))",
        .samples = R"(
t(4, 3)
t(3, 4)
t(4, 3), rtol=0.01
t(4, 3), atol=0.01
tensor([[4., 2., 1.], [2., -5., 3.], [1., 3., 6.]]).constant, hermitian=True
t(0, 3, 2)
t(3, 4).T
t(1, 4, 3).expand(2, 4, 3)
t() ! matrices)",
        .out = true},
    {.schema = "linalg_pinv.rtol(Tensor A, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
        .doc = "Computes the Moore-Penrose pseudoinverse with tolerances for each matrix.",
        .torch = "torch.linalg.pinv",
        .example = "pyburn.linalg.pinv(pyburn.ones(2, 3, 2), rtol=pyburn.tensor([0.1, 0.2])).shape",
        .samples = R"(
t(2, 4, 3), rtol=tensor([0.01, 0.1]).constant
t(2, 4, 3), atol=tensor(0.1).constant
t(2, 3, 3).constant, atol=tensor([0.01, 0.1]).constant, rtol=tensor(0.2).constant
t(0, 3, 2), rtol=tensor(0.1).constant
t(3, 4).T, rtol=tensor(0.01).constant
t(1, 4, 3).expand(2, 4, 3), rtol=tensor([0.01, 0.1]).constant
tensor([[4., 2.], [2., 5.]]).constant, rtol=tensor(0.1).constant, hermitian=True
t(), rtol=tensor(0.1).constant ! matrices)",
        .out = true},
    {.schema = "linalg_pinv.rcond(Tensor A, float rcond, bool hermitian=False) -> Tensor",
        .doc = "Computes the Moore-Penrose pseudoinverse with rtol=rcond.",
        .torch = "torch.linalg.pinv",
        .example = "pyburn.linalg.pinv(pyburn.tensor([[2., 0.], [0., 4.]]), 0.1)",
        .samples = "t(4, 3), 0.01\nt(0, 3, 2), 0.1\nt(3, 4).T, 0.1\nt(1, 4, 3).expand(2, 4, 3), 0.1\ntensor([[4., 2.], [2., "
                   "5.]]).constant, 0.1, True\nt(), 0.1 ! matrices",
        .out = true},
    {.schema = "pinverse(Tensor input, float rcond=1e-15) -> Tensor",
        .doc = "Computes the Moore-Penrose pseudoinverse; alias of linalg.pinv with rtol=rcond.",
        .example = "pyburn.pinverse(pyburn.tensor([[2., 0.], [0., 4.], [0., 0.]]))",
        .samples = "t(4, 3)\nt(3, 4), 0.01\nt(0, 3, 2)\nt(3, 4).T\nt(1, 4, 3).expand(2, 4, 3)\nt() ! matrices"},
    {.schema = "linalg_matrix_rank(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
        .doc = "Computes the rank: the number of singular values above max(atol, rtol * largest).",
        .torch = "torch.linalg.matrix_rank",
        .example = "pyburn.linalg.matrix_rank(pyburn.tensor([[1., 2.], [2., 4.]]))",
        .samples = R"(
t(4, 3)
t(2, 3, 3)
tensor([[1., 2.], [2., 4.], [3., 6.]])
t(4, 3), rtol=0.5
t(4, 3), atol=1.0
t(4, 3), atol=0.5, rtol=0.9
tensor([[4., 2.], [2., -5.]]), hermitian=True
t(0, 3, 2)
t(3, 4).T
t(1, 4, 3).expand(2, 4, 3)
t() ! matrices)",
        .out = true},
    {.schema = "linalg_matrix_rank.rtol(Tensor A, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
        .doc = "Computes the rank with tolerances for each matrix.",
        .torch = "torch.linalg.matrix_rank",
        .example = "pyburn.linalg.matrix_rank(pyburn.ones(2, 3, 2), rtol=pyburn.tensor([0.1, 0.2]))",
        .samples = R"(
t(2, 4, 3), rtol=tensor([0.01, 0.1])
t(2, 4, 3), atol=tensor(0.1)
t(2, 3, 3), atol=tensor([0.01, 0.1]), rtol=tensor(0.2)
t(0, 3, 2), rtol=tensor(0.1)
t(3, 4).T, rtol=tensor(0.01)
t(1, 4, 3).expand(2, 4, 3), rtol=tensor([0.01, 0.1])
tensor([[4., 2.], [2., 5.]]), rtol=tensor(0.1), hermitian=True
t(), rtol=tensor(0.1) ! matrices)",
        .out = true},
    {.schema = "linalg_matrix_rank.tol(Tensor A, *, float tol, bool hermitian=False) -> Tensor",
        .doc = "Computes the rank with atol=tol and rtol=0.",
        .torch = "torch.linalg.matrix_rank",
        .example = "pyburn.linalg.matrix_rank(pyburn.eye(2), tol=0.5)",
        .samples = R"(
t(4, 3), tol=0.5
t(0, 3, 2), tol=0.1
t(3, 4).T, tol=0.1
t(1, 4, 3).expand(2, 4, 3), tol=0.1
tensor([[4., 2.], [2., 5.]]), tol=0.1, hermitian=True
t(), tol=0.1 ! matrices)",
        .out = true},
    {.schema = "linalg_matrix_rank.tol_of_each(Tensor A, *, Tensor tol, bool hermitian=False) -> Tensor",
        .doc = "Computes the rank with atol=tol and rtol=0, for each matrix.",
        .torch = "torch.linalg.matrix_rank",
        .example = "pyburn.linalg.matrix_rank(pyburn.ones(2, 3, 2), tol=pyburn.tensor([0.5, 9.]))",
        .samples = R"(
t(2, 4, 3), tol=tensor([0.5, 1.])
t(0, 3, 2), tol=tensor(0.1)
t(3, 4).T, tol=tensor(0.1)
t(1, 4, 3).expand(2, 4, 3), tol=tensor([0.1, 0.9])
tensor([[4., 2.], [2., 5.]]), tol=tensor(0.1), hermitian=True
t(), tol=tensor(0.1) ! matrices)",
        .out = true},
    {.schema = "linalg_matrix_power(Tensor A, int n) -> Tensor",
        .doc = "Computes the n-th power of square matrices; negative n uses the inverse.",
        .torch = "torch.linalg.matrix_power",
        .example = "pyburn.linalg.matrix_power(pyburn.tensor([[1., 1.], [0., 1.]]), 5)",
        .samples = kPowers,
        .out = true},
    {.schema = "matrix_power(Tensor input, int n) -> Tensor",
        .doc = "Computes the n-th power of square matrices; alias of linalg.matrix_power.",
        .example = "pyburn.matrix_power(pyburn.tensor([[1., 1.], [0., 1.]]), 5)",
        .samples = kPowers},
    {.schema = "linalg_matrix_exp(Tensor A) -> Tensor",
        .doc = "Computes the matrix exponential.",
        .torch = "torch.linalg.matrix_exp",
        .example = "pyburn.linalg.matrix_exp(pyburn.tensor([[0., 1.], [0., 0.]]))",
        .samples = kSquare},
    {.schema = "matrix_exp(Tensor input) -> Tensor",
        .doc = "Computes the matrix exponential; alias of linalg.matrix_exp.",
        .example = "pyburn.matrix_exp(pyburn.tensor([[0., 1.], [0., 0.]]))",
        .samples = kSquare},
    {.schema = "linalg_lstsq(Tensor input, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor "
               "rank, "
               "Tensor singular_values)",
        .doc = "Solves the least-squares problem min ||input @ X - b||; returns the solution, residuals, rank and singular values.",
        .torch = "lambda a, b, rcond=None, driver=None: tuple(torch.linalg.lstsq(a, b, rcond=rcond, driver=driver))",
        .example = "pyburn.linalg.lstsq(pyburn.tensor([[1., 0.], [1., 1.], [1., 2.]]), pyburn.tensor([[1.], [2.], [3.]])).solution",
        .samples = R"(
t(4, 3), t(4, 2)
t(3, 4), t(3, 2)
t(2, 4, 3), t(2, 4, 1)
t(4, 3), t(4, 2), 0.01
t(4, 3), t(4, 2), driver='gelsy'
t(4, 3), t(4, 2), driver='gelsd'
t(4, 3), t(4, 2), driver='gels'
t(2, 4, 3), t(2, 4, 1), driver='gelss'
t(3, 4).T, t(2, 4).T
t(1, 4, 3).expand(2, 4, 3), t(2, 4, 1)
t(4, 3, dtype=f64), t(4, 2, dtype=f64)
t(0, 4, 3), t(0, 4, 2)
t(), t() ! matrices
t(4, 3), t(3, 2) ! do not match
t(4, 3), t(4, 2), driver='fast' ! driver)"},
    {.schema = "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
        .doc = "Computes the dot products of two batches of vectors along dim.",
        .torch = "torch.linalg.vecdot",
        .example = "pyburn.linalg.vecdot(pyburn.ones(2, 3), pyburn.ones(3))",
        .samples =
            "t(2, 3), t(2, 3)\nt(2, 3), t(3)\nt(2, 3), t(2, 1), dim=0\nt(0, 3), t(3)\nt(3, 2).T, t(2, 3)\nt(2, 1).expand(2, 3), t(2, "
            "3)\nt(3, dtype=f64), t(3, dtype=f64)\nt(), t() ! dimension\nt(2, 3), t(4) ! broadcast",
        .out = true},
};

TensorHandle power(const TensorHandle& a, uint64_t n) {
  const int64_t extent = square_extent(a);
  if (n == 0) return independent(clone(expand(identity_like(a, extent), a.shape())));
  if (n == 1) return clone(a);
  const TensorHandle half = power(a, n / 2), square = matmul(half, half);
  return n % 2 ? matmul(square, a) : square;
}

TensorHandle signed_power(const TensorHandle& a, int64_t n) {
  if (planted_fault == Fault::negated_exponent) return n < 0 ? power(linalg_inv(a), uint64_t(-n)) : power(a, uint64_t(n));
  return n < 0 ? power(linalg_inv(a), 0 - uint64_t(n)) : power(a, uint64_t(n));
}

// The series of a matrix so small that 16 terms do, squared back to its size.
TensorHandle exponential(const TensorHandle& a) {
  const int64_t n = square_extent(a);
  if (a.numel() == 0) return clone(a);
  const double norm = read_number(amax(sum(abs(detach(a)), Dims{-2})));
  require<ValueError>(std::isfinite(norm), "expected finite elements: got {}", norm);
  const int squarings = norm > 0.5 ? int(std::ceil(std::log2(norm))) + 1 : 0;
  const TensorHandle x = a * std::exp2(-squarings), one = identity_like(a, n);
  TensorHandle y = one;
  for (int k = 16; k >= 1; --k) y = one + matmul(x, y) / double(k);
  for (int i = 0; i < squarings; ++i) y = matmul(y, y);
  return y;
}

}  // namespace

TensorHandle fn::linalg_inv(const TensorHandle& A) {
  const int64_t n = square_extent(A);
  return _linalg_solve(A, expand(identity_like(A, n), A.shape()));
}
TensorHandle fn::inverse(const TensorHandle& input) { return linalg_inv(input); }
TensorHandle fn::linalg_det(const TensorHandle& A) {
  const auto [sign, log] = linalg_slogdet(A);
  return sign * exp(log);
}
TensorHandle fn::det(const TensorHandle& input) { return linalg_det(input); }
Handles<2> fn::slogdet(const TensorHandle& input) { return linalg_slogdet(input); }
TensorHandle fn::logdet(const TensorHandle& input) {
  const auto [sign, log] = linalg_slogdet(input);
  return where(lt(sign, 0), std::numeric_limits<double>::quiet_NaN(), log);
}

TensorHandle fn::linalg_solve(const TensorHandle& A, const TensorHandle& B, bool left) {
  square_extent(A);
  Shape of_vectors = A.shape();
  of_vectors.pop_back();
  const bool vectors = B.rank() == 1 || (B.rank() + 1 == A.rank() && B.shape() == of_vectors);
  require<ValueError>(left || !vectors, "a vector B is solved from the left only: got left=False for {}", B.shape());
  TensorHandle a = left ? A : t_of(A), b = vectors ? unsqueeze(B, -1) : left ? B : t_of(B);
  require(b.rank() >= 2 && b.shape()[b.rank() - 2] == a.shape().back(), "the shapes of A and B do not match: got {} and {}", A.shape(),
      B.shape());
  stretch(a, b);
  const TensorHandle x = _linalg_solve(a, b);
  return vectors ? remove_axis(x, x.rank() - 1) : left ? x : independent(t_of(x));
}

TensorHandle fn::cholesky_solve(const TensorHandle& input, const TensorHandle& L, bool upper) {
  require(input.rank() >= 2, "expected matrices: got {}", input.shape());
  require(square_extent(L) == input.shape()[input.rank() - 2], "the shapes of input and L do not match: got {} and {}", input.shape(),
      L.shape());
  TensorHandle lower = upper ? t_of(L) : L, b = input;
  stretch(lower, b);
  return linalg_solve_triangular(t_of(lower), linalg_solve_triangular(lower, b, false), true);
}
TensorHandle fn::cholesky_inverse(const TensorHandle& input, bool upper) {
  return cholesky_solve(identity_like(input, square_extent(input)), input, upper);
}
TensorHandle fn::linalg_eigvalsh(const TensorHandle& A, const std::string& UPLO) { return linalg_eigh(A, UPLO)[0]; }
TensorHandle fn::linalg_svdvals(const TensorHandle& A) { return linalg_svd(A, false)[1]; }

TensorHandle fn::linalg_pinv(const TensorHandle& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return _linalg_pinv(hermitian ? symmetric(A) : A, atol, rtol);
}
TensorHandle fn::linalg_pinv(const TensorHandle& A, const TensorHandle& atol, const TensorHandle& rtol, bool hermitian) {
  const auto [u, s, vh] = linalg_svd(hermitian ? symmetric(A) : A, false);
  const TensorHandle kept = gt(s, thresholds(A, detach(s), atol, rtol)), inverse = where(kept, 1.0 / where(kept, s, 1.0), 0.0);
  return matmul(t_of(vh) * unsqueeze(inverse, -2), t_of(u));
}
TensorHandle fn::linalg_pinv(const TensorHandle& A, double rcond, bool hermitian) { return linalg_pinv(A, {}, rcond, hermitian); }
TensorHandle fn::pinverse(const TensorHandle& input, double rcond) { return _linalg_pinv(input, {}, rcond); }

TensorHandle fn::linalg_matrix_rank(const TensorHandle& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  const TensorHandle a = detach(hermitian ? symmetric(A) : A);
  return sum(ne(counted(linalg_svdvals(a), Pinv::from(A, atol, rtol)), 0), Dims{-1});
}
TensorHandle fn::linalg_matrix_rank(const TensorHandle& A, const TensorHandle& atol, const TensorHandle& rtol, bool hermitian) {
  const TensorHandle values = linalg_svdvals(detach(hermitian ? symmetric(A) : A));
  return sum(gt(values, thresholds(A, values, atol, rtol)), Dims{-1});
}
TensorHandle fn::linalg_matrix_rank(const TensorHandle& A, double tol, bool hermitian) {
  return linalg_matrix_rank(A, std::optional(tol), std::optional(0.0), hermitian);
}
TensorHandle fn::linalg_matrix_rank(const TensorHandle& A, const TensorHandle& tol, bool hermitian) {
  return linalg_matrix_rank(A, tol, zeros(Dims{}, A.dtype(), &A.device()), hermitian);
}

TensorHandle fn::linalg_matrix_power(const TensorHandle& A, int64_t n) { return signed_power(A, n); }
TensorHandle fn::matrix_power(const TensorHandle& input, int64_t n) { return signed_power(input, n); }
TensorHandle fn::linalg_matrix_exp(const TensorHandle& A) { return exponential(A); }
TensorHandle fn::matrix_exp(const TensorHandle& input) { return exponential(input); }

Handles<4> fn::linalg_lstsq(
    const TensorHandle& input, const TensorHandle& b, std::optional<double> rcond, const std::optional<std::string>& driver) {
  require<ValueError>(!driver || *driver == "gels" || *driver == "gelsy" || *driver == "gelsd" || *driver == "gelss",
      "driver is 'gels', 'gelsy', 'gelsd' or 'gelss': got '{}'", driver.value_or(""));
  require(input.rank() >= 2 && b.rank() >= 2, "expected matrices: got {} and {}", input.shape(), b.shape());
  const int64_t m = input.shape()[input.rank() - 2], n = input.shape()[input.rank() - 1];
  require(b.shape()[b.rank() - 2] == m, "the shapes of input and b do not match: got {} and {}", input.shape(), b.shape());
  const std::string by = driver.value_or("gelsy");
  const TensorHandle solution = matmul(linalg_pinv(input, {}, rcond), b), rank = linalg_matrix_rank(input, {}, rcond);
  auto none = [&](DType dtype) { return zeros(Dims{0}, dtype, &input.device()); };
  const bool all_count = by != "gelsy" && m > n && rank.numel() > 0 && read_number(sum(ne(rank, n))) == 0;
  const TensorHandle rest = all_count ? matmul(input, solution) - b : TensorHandle();
  const bool has_values = by == "gelsd" || by == "gelss";
  return {solution, all_count ? sum(rest * rest, Dims{-2}) : none(input.dtype()), by == "gels" ? none(DType::int64) : rank,
      has_values ? linalg_svdvals(detach(input)) : none(input.dtype())};
}

TensorHandle fn::linalg_vecdot(const TensorHandle& x, const TensorHandle& y, int64_t dim) {
  require(x.rank() > 0 && y.rank() > 0, "expected at least one dimension: got {} and {}", x.shape(), y.shape());
  return sum(x * y, Dims{dim});
}

void register_solvers(OpTable& table) {
  table.add({&op::_linalg_pinv});
  table.add(functions);
}

}  // namespace pyburn
