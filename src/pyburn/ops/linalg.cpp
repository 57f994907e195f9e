// Factorisations of matrices and what is solved with them. Leading axes are batches.
#include "pyburn/ops/linalg.h"

#include <algorithm>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/linalg.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/solvers.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/rules.h"

namespace pyburn {

Qr Qr::from(const TensorHandle&, const std::string& mode) {
  require<ValueError>(mode == "reduced" || mode == "complete" || mode == "r", "mode must be 'reduced', 'complete' or 'r': got '{}'", mode);
  return {mode == "reduced" ? QrMode::reduced : mode == "complete" ? QrMode::complete : QrMode::r};
}
Eigh Eigh::from(const TensorHandle&, const std::string& UPLO) {
  const char side = UPLO.size() == 1 ? char(std::toupper(UPLO[0])) : ' ';
  require<ValueError>(side == 'L' || side == 'U', "UPLO is 'L' or 'U': got '{}'", UPLO);
  return {side == 'U'};
}

namespace {

void check_matrices(const Meta& m) {
  require(m.shape.rank() >= 2, "expected matrices: got {}", m.shape);
  require<DTypeError>(m.dtype == DType::float32 || m.dtype == DType::float64, "expected float32 or float64: got {}", m.dtype);
}
int64_t rows(const Shape& s) { return s[s.rank() - 2]; }
int64_t columns(const Shape& s) { return s[s.rank() - 1]; }
void check_square(const Meta& m) {
  check_matrices(m);
  require(rows(m.shape) == columns(m.shape), "expected square matrices: got {}", m.shape);
}
// The axes before the matrix, and others behind them.
Shape batch_and(const Shape& s, std::initializer_list<int64_t> more) {
  Shape batch = s;
  batch.resize(s.rank() - 2);
  for (int64_t n : more) batch.push_back(n);
  return batch;
}
TensorHandle t_of(const TensorHandle& m) { return transpose(m, -2, -1); }
TensorHandle sum_of(const TensorHandle& a, const TensorHandle& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

// --- solve: by LU with the largest pivots ---

void check_pair(Metas in) {
  check_square(in[0]);
  check_matrices(in[1]);
  require<DTypeError>(in[0].dtype == in[1].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, in[1].dtype);
  require(batch_and(in[0].shape, {}) == batch_and(in[1].shape, {}), "the batch dimensions differ: got {} and {}", in[0].shape, in[1].shape);
}
Meta infer_solve(const NoAttrs&, Metas in) {
  check_pair(in);
  require(columns(in[0].shape) == rows(in[1].shape), "the shapes of A and B do not match: got {} and {}", in[0].shape, in[1].shape);
  return in[1];
}
Grads grad_solve(const NoAttrs&, const GradContext& c) {
  const TensorHandle db = _linalg_solve(t_of(c.input(0)), c.dy());
  return {c.needs(0) ? -matmul(db, t_of(c.output())) : TensorHandle(), db};
}

// --- LU ---

MetaList infer_lu(const NoAttrs&, Metas in) {
  check_matrices(in[0]);
  return {in[0], {batch_and(in[0].shape, {std::min(rows(in[0].shape), columns(in[0].shape))}), DType::int32}};
}
// P applied to a gradient of the exchanged rows: the exchanges undone, the last one first.
TensorHandle rows_back(TensorHandle m, const TensorHandle& pivots) {
  const int64_t steps = pivots.shape().back(), n = rows(m.shape());
  TensorHandle places = expand(arange(0, n, 1, DType::int64, &m.device()), batch_and(m.shape(), {n}));
  for (int64_t i = 0; i < steps; ++i) {
    const TensorHandle here = narrow(places, -1, i, 1), other = cast(narrow(pivots, -1, i, 1), DType::int64) - 1;
    const TensorHandle there = gather(places, -1, other);
    places = scatter(scatter(places, -1, other, here), -1, full(other.shape(), i, DType::int64, &m.device()), there);
  }
  return scatter(zeros_like(m), -2, expand(unsqueeze(places, -1), m.shape()), m);
}
Grads grad_lu(const NoAttrs&, const GradContext& c) {
  const TensorHandle lu = c.output(0), g = c.dy(0);
  const int64_t m = rows(lu.shape()), n = columns(lu.shape()), k = std::min(m, n);
  const TensorHandle square = narrow(narrow(lu, -2, 0, k), -1, 0, k), one = eye(k, {}, lu.dtype(), &lu.device());
  const TensorHandle lower = tril(square, -1) + one, upper = triu(square);
  const TensorHandle of_square = narrow(narrow(g, -2, 0, k), -1, 0, k);
  TensorHandle of_lower = matmul(t_of(lower), tril(of_square, -1)), of_upper = matmul(triu(of_square), t_of(upper));
  if (n > k) of_lower = of_lower - matmul(narrow(g, -1, k, n - k), t_of(narrow(lu, -1, k, n - k)));
  if (m > k) of_upper = of_upper - matmul(t_of(narrow(lu, -2, k, m - k)), narrow(g, -2, k, m - k));
  TensorHandle da = tril(of_lower, -1) + triu(of_upper);
  if (m > k) {
    da = cat({linalg_solve_triangular(t_of(lower), da, true, true, true), narrow(g, -2, k, m - k)}, -2);
    da = linalg_solve_triangular(t_of(upper), da, false, false);
  } else {
    da = linalg_solve_triangular(t_of(upper), da, false, false);
    if (n > k) da = cat({da, narrow(g, -1, k, n - k)}, -1);
    da = linalg_solve_triangular(t_of(lower), da, true, true, true);
  }
  return {rows_back(da, c.output(1))};
}

MetaList infer_slogdet(const NoAttrs&, Metas in) {
  check_square(in[0]);
  const Meta result{batch_and(in[0].shape, {}), in[0].dtype};
  return {result, result};
}
Grads grad_slogdet(const NoAttrs&, const GradContext& c) { return {unsqueeze(unsqueeze(c.dy(1), -1), -1) * t_of(linalg_inv(c.input(0)))}; }

// --- triangles ---

Meta infer_triangular(const Triangular& a, Metas in) {
  check_pair(in);
  require(columns(in[0].shape) == (a.left ? rows(in[1].shape) : columns(in[1].shape)), "the shapes of A and B do not match: got {} and {}",
      in[0].shape, in[1].shape);
  return in[1];
}
TensorHandle triangle(const TensorHandle& m, bool upper, int64_t diagonal) { return upper ? triu(m, diagonal) : tril(m, -diagonal); }
Grads grad_triangular(const Triangular& a, const GradContext& c) {
  const TensorHandle db = linalg_solve_triangular(t_of(c.input(0)), c.dy(), !a.upper, a.left, a.unit);
  if (!c.needs(0)) return {TensorHandle(), db};
  const TensorHandle x = c.output();
  const TensorHandle product = a.left ? matmul(db, t_of(x)) : matmul(t_of(x), db);
  return {-triangle(product, a.upper, a.unit ? 1 : 0), db};
}
Meta infer_cholesky(const Cholesky&, Metas in) {
  check_square(in[0]);
  return in[0];
}
// L^-T phi(L^T dL) L^-1, made symmetric; phi is the lower triangle with half the diagonal.
Grads grad_cholesky(const Cholesky& a, const GradContext& c) {
  const TensorHandle l = a.upper ? t_of(c.output()) : c.output(), dl = a.upper ? t_of(c.dy()) : c.dy();
  const TensorHandle p = matmul(t_of(l), dl), phi = tril(p) - diag_embed(diagonal(p, 0, -2, -1)) * 0.5;
  const TensorHandle half = linalg_solve_triangular(t_of(l), phi, true);
  const TensorHandle da = linalg_solve_triangular(l, half, false, false);
  return {(da + t_of(da)) * 0.5};
}

// --- QR ---

MetaList infer_qr(const Qr& a, Metas in) {
  check_matrices(in[0]);
  const int64_t m = rows(in[0].shape), n = columns(in[0].shape), k = a.mode == QrMode::complete ? m : std::min(m, n);
  const Meta q{batch_and(in[0].shape, {m, k}), in[0].dtype}, r{batch_and(in[0].shape, {k, n}), in[0].dtype};
  if (a.mode == QrMode::r) return {{Shape{0}, in[0].dtype}, r};
  return {q, r};
}
// Of a matrix with at least as many rows as columns.
TensorHandle grad_of_tall(const TensorHandle& q, const TensorHandle& r, const TensorHandle& dq, const TensorHandle& dr) {
  TensorHandle m;
  if (dr.defined()) m = matmul(r, t_of(dr));
  if (dq.defined()) m = sum_of(m, -matmul(t_of(dq), q));
  const TensorHandle symmetric = tril(m) + t_of(tril(m, -1));
  return linalg_solve_triangular(t_of(r), sum_of(dq, matmul(q, symmetric)), false, false);
}
Grads grad_qr(const Qr& a, const GradContext& c) {
  require<GradientError>(a.mode != QrMode::r, "the derivative of qr is not implemented when mode='r'");
  const int64_t m = rows(c.meta(0).shape), n = columns(c.meta(0).shape);
  require<GradientError>(
      a.mode == QrMode::reduced || m <= n, "the derivative of qr is not implemented when mode='complete' and nrows > ncols");
  const TensorHandle q = c.output(0), r = c.output(1), dq = c.has_dy(0) ? c.dy(0) : TensorHandle(),
                     dr = c.has_dy(1) ? c.dy(1) : TensorHandle();
  if (m >= n) return {grad_of_tall(q, r, dq, dr)};
  // A is [X Y] and R is [U V]: X = Q U as above, Y = Q V.
  const TensorHandle u = narrow(r, -1, 0, m);
  if (!dr.defined()) return {cat({grad_of_tall(q, u, dq, {}), zeros(batch_and(c.meta(0).shape, {m, n - m}), q.dtype(), &q.device())}, -1)};
  const TensorHandle du = narrow(dr, -1, 0, m), dv = narrow(dr, -1, m, n - m), y = matmul(q, narrow(r, -1, m, n - m));
  return {cat({grad_of_tall(q, u, sum_of(dq, matmul(y, t_of(dv))), du), matmul(q, dv)}, -1)};
}

// --- eigenvalues and singular values ---

MetaList infer_eigh(const Eigh&, Metas in) {
  check_square(in[0]);
  return {{batch_and(in[0].shape, {rows(in[0].shape)}), in[0].dtype}, in[0]};
}
// 1 / (x_j - x_i), and 0 on the diagonal.
TensorHandle inverse_gaps(const TensorHandle& x) {
  const TensorHandle gap = unsqueeze(x, -2) - unsqueeze(x, -1);
  const TensorHandle same = eye(x.shape().back(), {}, x.dtype(), &x.device());
  return (1.0 - same) / (gap + same);
}
Grads grad_eigh(const Eigh&, const GradContext& c) {
  const TensorHandle values = c.output(0), v = c.output(1);
  TensorHandle inner;
  if (c.has_dy(0)) inner = diag_embed(c.dy(0));
  if (c.has_dy(1)) inner = sum_of(inner, matmul(t_of(v), c.dy(1)) * inverse_gaps(values));
  return {matmul(v, matmul(inner, t_of(v)))};
}

MetaList infer_svd(const Svd& a, Metas in) {
  check_matrices(in[0]);
  const int64_t m = rows(in[0].shape), n = columns(in[0].shape), k = std::min(m, n);
  auto meta = [&](const Shape& s) { return Meta{s, in[0].dtype}; };
  return {meta(batch_and(in[0].shape, {m, a.full ? m : k})), meta(batch_and(in[0].shape, {k})),
      meta(batch_and(in[0].shape, {a.full ? n : k, n}))};
}
// U ((skew(U^T dU) / E) S + S (skew(V^T dV) / E) + diag(dS)) V^T with E_ij = s_j^2 - s_i^2, and what of dU and dV leaves the spaces.
Grads grad_svd(const Svd&, const GradContext& c) {
  const int64_t m = rows(c.meta(0).shape), n = columns(c.meta(0).shape), k = std::min(m, n);
  const TensorHandle u = narrow(c.output(0), -1, 0, k), s = c.output(1), vh = narrow(c.output(2), -2, 0, k), v = t_of(vh);
  const TensorHandle row = unsqueeze(s, -2), column = unsqueeze(s, -1);
  auto skew = [](const TensorHandle& x) { return x - t_of(x); };
  TensorHandle inner, outer;
  if (c.has_dy(1)) inner = diag_embed(c.dy(1));
  const bool has_u = c.has_dy(0), has_v = c.has_dy(2);
  const TensorHandle gaps = has_u || has_v ? inverse_gaps(s * s) : TensorHandle();
  const TensorHandle du = has_u ? narrow(c.dy(0), -1, 0, k) : TensorHandle(), dv = has_v ? t_of(narrow(c.dy(2), -2, 0, k)) : TensorHandle();
  if (has_u) inner = sum_of(inner, skew(matmul(t_of(u), du)) * gaps * row);
  if (has_v) inner = sum_of(inner, skew(matmul(t_of(v), dv)) * gaps * column);
  TensorHandle da = matmul(matmul(u, inner), vh);
  if (has_u && m > k) da = da + matmul((du - matmul(u, matmul(t_of(u), du))) / row, vh);
  if (has_v && n > k) da = da + matmul(u, t_of((dv - matmul(v, matmul(t_of(v), dv))) / row));
  return {da};
}

}  // namespace

namespace op {
constinit OpInfo _linalg_solve = define<NoAttrs, infer_solve, grad_solve>({.schema = "_linalg_solve(Tensor A, Tensor B) -> Tensor",
    .doc = "Solves A @ X = B for matrices A and B with equal batch dimensions.",
    .reads = {{0, kOutputs}, {0}},
    .torch = "torch.linalg.solve",
    .example = "pyburn.linalg.solve(pyburn.tensor([[2., 0.], [0., 4.]]), pyburn.tensor([[1.], [1.]]))",
    .samples = R"(
t(3, 3), t(3, 2)
t(2, 3, 3), t(2, 3, 1)
t(0, 3, 3), t(0, 3, 2)
t(0, 0), t(0, 2)
t(3, 3).T, t(2, 3).T
tensor([[2., 0.5], [0.25, 1.]]).smooth, t(2, 1).expand(2, 2)
t(3, 3, dtype=f64), t(3, 2, dtype=f64)
tensor([[0., 1.], [1., 0.]]).smooth, t(2, 2)
t(), t() ! matrices
t(3, 2), t(3, 2) ! square
t(3, 3), t(2, 2) ! do not match
t(2, 3, 3), t(3, 2) ! batch dimensions
t(3, 3, dtype=i64), t(3, 2, dtype=i64) ! float32
tensor([[1., 2.], [2., 4.]]), t(2, 2) ! singular)"});
constinit OpInfo _linalg_lu = define<NoAttrs, infer_lu, grad_lu>({.schema = "_linalg_lu(Tensor A) -> (Tensor LU, Tensor pivots)",
    .doc = "Computes the compact LU factorisation A = P @ L @ U and 1-based pivots.",
    .saves = outputs,
    .torch = "torch.linalg.lu_factor",
    .example = "pyburn.linalg.lu_factor(pyburn.tensor([[0., 2.], [1., 0.]]))",
    .samples = R"(
t(3, 3)
t(2, 3, 3)
t(4, 3)
t(3, 4)
t(0, 3, 3)
t(0, 0)
t(3, 3).T
t(1, 3, 3).expand(2, 3, 3)
t(3, 3, dtype=f64)
tensor([[0., 1.], [1., 0.]]).smooth
t() ! matrices
t(3, 3, dtype=i64) ! float32)"});
constinit OpInfo linalg_slogdet =
    define<NoAttrs, infer_slogdet, grad_slogdet>({.schema = "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
        .doc = "Computes the sign and the logarithm of the absolute value of the determinants of square matrices.",
        .saves = inputs,
        .torch = "torch.linalg.slogdet",
        .example = "pyburn.linalg.slogdet(pyburn.tensor([[0., 2.], [1., 0.]]))",
        .samples = R"(
t(3, 3)
t(2, 4, 4)
t(1, 1)
t(0, 0)
t(0, 3, 3)
t(3, 3).T
t(1, 3, 3).expand(2, 3, 3)
t(3, 3, dtype=f64)
tensor([[1., 2.], [2., 4.]]).constant
t() ! matrices
t(2, 3) ! square
t(3, 3, dtype=i64) ! float32)"});
constinit OpInfo linalg_solve_triangular = define<Triangular, infer_triangular, grad_triangular>(
    {.schema = "linalg_solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
        .doc = "Solves A @ X = B (X @ A = B with left=False) for triangular matrices A; the other triangle is not read.",
        .reads = {{0, kOutputs}, {0}},
        .torch = "torch.linalg.solve_triangular",
        .example = "pyburn.linalg.solve_triangular(pyburn.tensor([[2., 0.], [1., 4.]]), pyburn.ones(2, 1), upper=False)",
        .samples = R"(
t(3, 3), t(3, 2), upper=True
t(3, 3), t(3, 2), upper=False
t(3, 3), t(2, 3), upper=True, left=False
t(3, 3), t(2, 3), upper=False, left=False
t(3, 3), t(3, 2), upper=True, unitriangular=True
t(2, 3, 3), t(2, 3, 1), upper=False, unitriangular=True
t(0, 3, 3), t(0, 3, 2), upper=True
t(3, 3).T, t(2, 3).T, upper=True
t(3, 3), t(3, 1).expand(3, 2), upper=True
t(3, 3, dtype=f64), t(3, 2, dtype=f64), upper=True
t(), t(), upper=True ! matrices
t(3, 3), t(2, 2), upper=True ! do not match)"});
constinit OpInfo linalg_cholesky =
    define<Cholesky, infer_cholesky, grad_cholesky>({.schema = "linalg_cholesky(Tensor A, *, bool upper=False) -> Tensor",
        .doc = "Computes the Cholesky factorisation A = L @ L.T of symmetric positive-definite matrices.",
        .saves = outputs,
        .torch = "torch.linalg.cholesky",
        .example = "pyburn.linalg.cholesky(pyburn.tensor([[4., 2.], [2., 5.]]))",
        .samples = R"(
tensor([[4., 2., 1.], [2., 5., 3.], [1., 3., 6.]])
tensor([[4., 2., 1.], [2., 5., 3.], [1., 3., 6.]]), upper=True
tensor([[[4., 2.], [2., 5.]], [[1., 0.5], [0.5, 1.]]])
t(0, 3, 3)
tensor([[4., 2.], [2., 5.]]).T
tensor([[[4., 2.], [2., 5.]]]).expand(2, 2, 2)
tensor([[4., 2.], [2., 5.]], dtype=f64)
t() ! matrices
t(2, 3) ! square
tensor([[1., 2.], [2., 1.]]) ! positive-definite)"});
constinit OpInfo linalg_qr = define<Qr, infer_qr, grad_qr>({.schema = "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    .doc = "Computes the QR factorisation A = Q @ R; mode is 'reduced', 'complete' (square Q) or 'r' (empty Q).",
    .saves = outputs,
    .torch = "torch.linalg.qr",
    .example = "pyburn.linalg.qr(pyburn.tensor([[3., 1.], [4., 2.]]))",
    .samples = R"(
t(4, 3)
t(3, 3)
t(3, 5)
t(2, 4, 3)
t(4, 3).constant, 'complete'
t(3, 5), mode='complete'
t(4, 3).constant, 'r'
t(0, 3, 2)
t(3, 4).T
t(1, 4, 3).expand(2, 4, 3)
t(4, 3, dtype=f64)
t() ! matrices
t(3, 3), 'full' ! mode)"});
constinit OpInfo linalg_eigh =
    define<Eigh, infer_eigh, grad_eigh>({.schema = "linalg_eigh(Tensor A, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
        .doc = "Computes the eigenvalues (ascending) and eigenvectors (columns) of symmetric matrices, of which only one triangle is read.",
        .saves = outputs,
        .example = "pyburn.linalg.eigh(pyburn.tensor([[2., 0.], [0., 1.]])).eigenvalues"});
constinit OpInfo linalg_svd =
    define<Svd, infer_svd, grad_svd>({.schema = "linalg_svd(Tensor A, bool full_matrices=True) -> (Tensor U, Tensor S, Tensor Vh)",
        .doc = "Computes the singular value decomposition A = U @ diag(S) @ Vh with singular values in descending order.",
        .saves = outputs,
        .example = "pyburn.linalg.svd(pyburn.tensor([[0., 2.], [1., 0.]])).S"});
}  // namespace op

void register_linalg(OpTable& table) {
  table.add({&op::_linalg_solve, &op::_linalg_lu, &op::linalg_slogdet, &op::linalg_solve_triangular, &op::linalg_cholesky, &op::linalg_qr,
      &op::linalg_eigh, &op::linalg_svd});
}

}  // namespace pyburn
