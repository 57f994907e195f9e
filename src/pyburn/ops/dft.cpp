// Discrete Fourier transforms along one dimension, of pairs (real, imaginary) and of real numbers.
#include "pyburn/ops/dft.h"

#include <numbers>

#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/dft.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check_floating(const Meta& x) { require<DTypeError>(is_floating(x.dtype), "expected a floating dtype: got {}", x.dtype); }
// Pairs in the last dimension, and at least one element along another.
void check_pairs(const Meta& x, int64_t dim) {
  check_floating(x);
  const int rank = x.shape.rank();
  require(rank >= 2 && x.shape[rank - 1] == 2, "expected a last dimension of 2 (real, imaginary): got {}", x.shape);
  check_dim(dim, rank);
  require<ValueError>(dim != rank - 1, "dim must not be the last one, which holds (real, imaginary)");
  require(x.shape[int(dim)] > 0, "expected at least one element along dim: got {}", x.shape);
}

Meta infer_dft(const Dft& a, Metas in) {
  check_pairs(in[0], a.dim);
  return in[0];
}
Meta infer_rdft(const RealDft& a, Metas in) {
  check_floating(in[0]);
  require(in[0].shape.rank() > 0, "expected at least one dimension: got rank 0");
  check_dim(a.dim, in[0].shape.rank());
  Shape y = in[0].shape;
  require(y[int(a.dim)] > 0, "expected at least one element along dim: got {}", y);
  y[int(a.dim)] = y[int(a.dim)] / 2 + 1;
  y.push_back(2);
  return {y, in[0].dtype};
}
Meta infer_irdft(const RealInverseDft& a, Metas in) {
  check_pairs(in[0], a.dim);
  Shape y = in[0].shape;
  require<ValueError>(a.n > 0, "n must be positive: got {}", a.n);
  require(y[int(a.dim)] == a.n / 2 + 1, "expected n / 2 + 1 = {} frequencies along dim: got {}", a.n / 2 + 1, y);
  y[int(a.dim)] = a.n;
  y.pop_back();
  return {y, in[0].dtype};
}

// --- gradients: the transposed sums ---

Grads grad_dft(const Dft& a, const GradContext& c) { return {dft(c.dy(), a.dim, !a.inverse, a.scale)}; }

// y with the frequencies that stand for two scaled: all but the first and, of an even n, the last.
TensorHandle scaled_inside(const TensorHandle& y, int64_t dim, int64_t n, double factor) {
  const int64_t inside = (n - 1) / 2, count = n / 2 + 1;
  if (inside == 0) return y;
  Tensors parts{slice(y, dim, 0, 1), slice(y, dim, 1, 1 + inside) * factor};
  if (1 + inside < count) parts.push_back(slice(y, dim, 1 + inside, count));
  return cat(parts, dim);
}
Grads grad_rdft(const RealDft& a, const GradContext& c) {
  const int64_t n = c.meta(0).shape[int(a.dim)];
  return {irdft(scaled_inside(c.dy(), a.dim, n, 0.5), a.dim, n, a.scale)};
}
Grads grad_irdft(const RealInverseDft& a, const GradContext& c) { return {scaled_inside(rdft(c.dy(), a.dim, a.scale), a.dim, a.n, 2)}; }

// --- decompositions: products with the matrices of cosines and sines ---

struct Waves {
  TensorHandle cos, sin;
};
// Of frequency k (row) at place j (column), of n places.
Waves waves(int64_t frequencies, int64_t n, const TensorHandle& like) {
  Device* device = &like.device();
  const TensorHandle k = arange(0, frequencies, 1, DType::int64, device), j = arange(0, n, 1, DType::int64, device);
  const TensorHandle turns = remainder(unsqueeze(k, 1) * unsqueeze(j, 0), n);  // exact, however large the product is
  const TensorHandle angle = cast(turns, widest_float(like.device().backend())) * (2 * std::numbers::pi / double(n));
  return {cast(cos(angle), like.dtype()), cast(sin(angle), like.dtype())};
}
// matrix x, along the last dimension of x.
TensorHandle along_last(const TensorHandle& x, const TensorHandle& matrix) { return matmul(x, transpose(matrix, 0, 1)); }

struct Parts {
  TensorHandle real, imaginary;
};
Parts parts_of(const TensorHandle& pairs, int64_t dim) {
  return {movedim(select(pairs, -1, 0), {dim}, {-1}), movedim(select(pairs, -1, 1), {dim}, {-1})};
}
TensorHandle paired(const TensorHandle& real, const TensorHandle& imaginary, int64_t dim) {
  return stack({movedim(real, {-1}, {dim}), movedim(imaginary, {-1}, {dim})}, -1);
}

TensorHandle decompose_dft(const Dft& a, Inputs in) {
  const auto [re, im] = parts_of(*in[0], a.dim);
  const int64_t n = re.shape().back();
  const auto [c, s_] = waves(n, n, re);
  const TensorHandle s = s_ * (a.inverse ? a.scale : -a.scale), cs = c * a.scale;
  return paired(along_last(re, cs) - along_last(im, s), along_last(re, s) + along_last(im, cs), a.dim);
}
TensorHandle decompose_rdft(const RealDft& a, Inputs in) {
  const TensorHandle x = movedim(*in[0], {a.dim}, {-1});
  const int64_t n = x.shape().back();
  const auto [c, s] = waves(n / 2 + 1, n, x);
  return paired(along_last(x, c * a.scale), along_last(x, s * -a.scale), a.dim);
}
TensorHandle decompose_irdft(const RealInverseDft& a, Inputs in) {
  const auto [re, im] = parts_of(*in[0], a.dim);
  const auto [c, s] = waves(a.n / 2 + 1, a.n, re);
  const TensorHandle both = scaled_inside(c, 0, a.n, 2) * a.scale, odd = scaled_inside(s, 0, a.n, 2) * a.scale;
  return movedim(matmul(re, both) - matmul(im, odd), {-1}, {a.dim});
}

}  // namespace

namespace op {
constinit OpInfo dft = define<Dft, infer_dft, grad_dft, decompose_dft>(
    {.schema = "dft(Tensor input, int dim=-2, bool inverse=False, float scale=1.0) -> Tensor",
        .doc = "Computes the discrete Fourier transform of complex numbers along dim, times scale; input (..., 2) holds pairs (real, "
               "imaginary). With inverse=True, the exponents have the other sign.",
        .torch = "torch_dft",
        .example = "pyburn.dft(pyburn.tensor([[1., 0.], [0., 0.]]))",
        .samples = R"(
t(4, 2)
t(1, 2)
t(6, 2), inverse=True
t(3, 5, 2), 0
t(2, 12, 2), 1, True, 0.25
t(2, 7, 3, 2), 1
t(2, 3, 9, 2), -2
t(37, 2)
t(2, 41, 2, 2), 1, True
t(128, 2), scale=0.5
t(5, 30, 2)
t(0, 3, 2)
t(2, 6, 3).permute(2, 1, 0)
t(2, 1, 2).expand(2, 6, 2)
t(2, 15, 2, dtype=f64)
t(2, 6, 2, dtype=bf16)
t() ! dim
t(4, 3) ! last dimension
t(0, 2) ! at least one element
t(4, 2), 1 ! last one
t(4, 2), 2 ! dim out of range
t(4, 2, dtype=i64) ! floating)"});
constinit OpInfo rdft =
    define<RealDft, infer_rdft, grad_rdft, decompose_rdft>({.schema = "rdft(Tensor input, int dim=-1, float scale=1.0) -> Tensor",
        .doc = "Computes the discrete Fourier transform of real numbers along dim, times scale: the n / 2 + 1 frequencies that determine "
               "the others, as pairs (real, imaginary) in a new last dimension.",
        .torch = "torch_rdft",
        .example = "pyburn.rdft(pyburn.tensor([1., 0., 0.]))",
        .samples = R"(
t(4)
t(1)
t(2, 6)
t(3, 5), 0
t(2, 7, 3), 1, 0.25
t(37)
t(2, 74)
t(2, 100)
t(5, 30)
t(0, 3)
t(6, 3).T
t(2, 1).expand(2, 6)
t(2, 15, dtype=f64)
t(2, 6, dtype=f16)
t() ! dimension
t(0) ! at least one element
t(4), 1 ! dim out of range
t(4, dtype=i64) ! floating)"});
constinit OpInfo irdft = define<RealInverseDft, infer_irdft, grad_irdft, decompose_irdft>(
    {.schema = "irdft(Tensor input, int dim, int n, float scale=1.0) -> Tensor",
        .doc = "Computes the n real numbers along dim whose transform by rdft is input (..., 2), times n and scale. The imaginary parts of "
               "the first and, of an even n, the last frequency are ignored.",
        .torch = "torch_irdft",
        .example = "pyburn.irdft(pyburn.tensor([[1., 0.], [0., 0.]]), 0, 3)",
        .samples = R"(
t(3, 2), 0, 4
t(1, 2), 0, 1
t(2, 4, 2), 1, 6
t(3, 5, 2), 0, 5, 0.2
t(2, 4, 3, 2), 1, 7, 0.25
t(19, 2), 0, 37
t(2, 38, 2), 1, 74
t(2, 51, 2), -2, 100
t(0, 3, 2), 1, 5
t(2, 4, 3).permute(2, 1, 0), 1, 7
t(2, 1, 2).expand(2, 4, 2), 1, 6
t(2, 8, 2, dtype=f64), 1, 15
t(2, 4, 2, dtype=bf16), 1, 6
t(), 0, 1 ! last dimension
t(0, 2), 0, 1 ! at least one element
t(3, 2), 0, 6 ! frequencies
t(3, 2), 0, -4 ! positive
t(3, 2, dtype=i64), 0, 4 ! floating)"});
}  // namespace op

void register_dft(OpTable& table) { table.add({&op::dft, &op::rdft, &op::irdft}); }

}  // namespace pyburn
