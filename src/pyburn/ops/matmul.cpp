// Matrix products.
#include "pyburn/ops/matmul.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

void check_dtypes(DType a, DType b) {
  require<DTypeError>(a == b, "expected equal dtypes: got {} and {}", a, b);
  require<DTypeError>(a != DType::boolean, "not defined for bool: got {}", a);
}
Meta infer(const NoAttrs&, Metas in) {
  const Shape &a = in[0].shape, &b = in[1].shape;
  require(a.rank() == 3 && b.rank() == 3, "expected two batches of matrices: got {} and {}", a, b);
  require(a[0] == b[0], "batch sizes differ: got {} and {}", a, b);
  require(a[2] == b[1], "inner dimensions differ: got {} and {}", a, b);
  check_dtypes(in[0].dtype, in[1].dtype);
  return {Shape{a[0], a[1], b[2]}, in[0].dtype};
}
Grads grad_bmm(const NoAttrs&, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  return {c.needs(0) ? bmm(dy, transpose(c.input(1), 1, 2)) : TensorHandle(),
      c.needs(1) ? bmm(transpose(c.input(0), 1, 2), dy) : TensorHandle()};
}

Meta infer_plus(const Blend& blend, Metas in) {
  const Meta product = infer(NoAttrs{}, in.subspan(1));
  require(in[0].shape == product.shape, "the shape of start does not match the product: got {} for {}", in[0].shape, product.shape);
  require<DTypeError>(in[0].dtype == product.dtype, "expected equal dtypes: got {} and {}", in[0].dtype, product.dtype);
  if (!is_floating(product.dtype))
    require<DTypeError>(!blend.beta.is_floating() && !blend.alpha.is_floating(), "expected integers for alpha and beta: got {} and {}",
        blend.alpha, blend.beta);
  return product;
}
TensorHandle times(const TensorHandle& x, const Scalar& factor) { return factor.to_double() == 1 ? TensorHandle(x) : mul(x, factor); }
Grads grad_plus(const Blend& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  const TensorHandle scaled = c.needs(1) || c.needs(2) ? times(dy, a.alpha) : TensorHandle();
  return {c.needs(0) ? times(dy, a.beta) : TensorHandle(), c.needs(1) ? bmm(scaled, transpose(c.input(2), 1, 2)) : TensorHandle(),
      c.needs(2) ? bmm(transpose(c.input(1), 1, 2), scaled) : TensorHandle()};
}
template <int factor>
int64_t cost(std::span<const Shape* const> in, const Shape& out) {
  return Checked(out.numel()) * (*in[factor])[2];
}
Tensors decompose_plus(const Blend& a, Inputs in) { return {add(times(*in[0], a.beta), bmm(*in[1], *in[2]), a.alpha)}; }

}  // namespace

namespace op {
constinit OpInfo bmm = define<NoAttrs, infer, grad_bmm>({.schema = "bmm(Tensor input, Tensor mat2) -> Tensor",
    .doc = "Multiplies batches of matrices: (B, N, M) @ (B, M, P) gives (B, N, P).",
    .kind = Kind::contract,
    .autocast = Autocast::lower,
    .reads = {{1}, {0}},
    .fusing = Fusing::begins,
    .multiply_adds = cost<0>,
    .example = "pyburn.bmm(pyburn.ones(2, 3, 4), pyburn.ones(2, 4, 5)).shape",
    .samples = R"(
t(2, 3, 4), t(2, 4, 5)
t(1, 1, 1), t(1, 1, 1)
t(0, 3, 4), t(0, 4, 5)
t(2, 3, 0), t(2, 0, 5)
t(2, 4, 3).transpose(1, 2), t(2, 5, 4).transpose(1, 2)
t(1, 3, 4).expand(2, 3, 4), t(2, 4, 5)
t(2, 3, 4, dtype=f64), t(2, 4, 5, dtype=f64)
t(2, 3, 4, dtype=f16), t(2, 4, 5, dtype=f16)
t(2, 3, 4, dtype=i64), t(2, 4, 5, dtype=i64)
t(1, 70, 130), t(1, 130, 90)
t(), t(2, 4, 5) ! batches
t(2, 3), t(3, 4) ! batches
t(2, 3, 4, dtype=b8), t(2, 4, 5, dtype=b8) ! bool
t(2, 3, 4), t(2, 5, 6) ! inner dimensions differ)"});
constinit OpInfo bmm_plus = define<Blend, infer_plus, grad_plus, decompose_plus>(
    {.schema = "bmm_plus(Tensor start, Tensor input, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        .doc = "Computes beta * start + alpha * bmm(input, mat2) in one pass.",
        .kind = Kind::contract,
        .autocast = Autocast::lower,
        .reads = {{}, {2}, {1}},
        .fusing = Fusing::begins,
        .multiply_adds = cost<1>,
        .torch = "torch.baddbmm",
        .example = "pyburn.bmm_plus(pyburn.ones(1, 1, 5).expand(2, 3, 5), pyburn.ones(2, 3, 4), pyburn.ones(2, 4, 5)).shape",
        .samples = R"(
t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)
t(2, 3, 5), t(2, 3, 4), t(2, 4, 5), beta=0.5, alpha=2
t(2, 3, 5, dtype=i64), t(2, 3, 4, dtype=i64), t(2, 4, 5, dtype=i64), beta=2, alpha=3
t(2, 3, 5, dtype=bf16), t(2, 3, 4, dtype=bf16), t(2, 4, 5, dtype=bf16), beta=-1, alpha=0.5
t(1, 1, 5).expand(2, 3, 5), t(2, 3, 4), t(2, 4, 5)
t(1, 3, 1).expand(2, 3, 5), t(2, 3, 4), t(2, 4, 5)
t(1, 1, 1), t(1, 1, 1), t(1, 1, 1)
t(0, 3, 5), t(0, 3, 4), t(0, 4, 5)
t(2, 3, 5), t(2, 3, 0), t(2, 0, 5)
t(2, 5, 3).transpose(1, 2), t(2, 4, 3).transpose(1, 2), t(2, 5, 4).transpose(1, 2)
t(2, 3, 5, dtype=f64), t(2, 3, 4, dtype=f64), t(2, 4, 5, dtype=f64)
t(2, 3, 5, dtype=f16), t(2, 3, 4, dtype=f16), t(2, 4, 5, dtype=f16)
t(2, 3, 5, dtype=i64), t(2, 3, 4, dtype=i64), t(2, 4, 5, dtype=i64)
t(1, 70, 90), t(1, 70, 130), t(1, 130, 90)
t(), t(2, 3, 4), t(2, 4, 5) ! does not match
t(2, 3, 5, dtype=f64), t(2, 3, 4), t(2, 4, 5) ! dtypes
t(2, 3, 5, dtype=i64), t(2, 3, 4, dtype=i64), t(2, 4, 5, dtype=i64), beta=0.5 ! integers
t(2, 3, 5), t(2, 3, 4), t(2, 5, 6) ! inner dimensions differ)"});
}  // namespace op

namespace {
TensorHandle product(const TensorHandle& left, const TensorHandle& right, const TensorHandle& start = {});
void check_fit(const Shape& x, const Shape& y);

Meta infer_linear(const NoAttrs&, Metas in) {
  const Shape &x = in[0].shape, &weight = in[1].shape;
  require(x.rank() > 0, "both arguments need to be at least 1D: got {} and {}", x, weight);
  require(weight.rank() == 1 || weight.rank() == 2, "expected a weight with 1 or 2 dimensions: got {}", weight);
  require(x.back() == weight.back(), "expected {} features, got {}: input of shape {}", weight.back(), x.back(), x);
  check_dtypes(in[0].dtype, in[1].dtype);
  Shape y = x;
  y.pop_back();
  if (weight.rank() == 2) y.push_back(weight[0]);
  if (!(in[2] == Meta{})) {
    check_fit(in[2].shape, y);
    require<DTypeError>(in[2].dtype == in[0].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, in[2].dtype);
  }
  return {y, in[0].dtype};
}
// The gradient of a summand that was stretched to the shape of dy.
TensorHandle summed_to(const TensorHandle& dy, const Shape& shape) {
  Dims over;
  for (int i = 0; i < dy.rank(); ++i) {
    const int axis = i - (dy.rank() - shape.rank());
    if (axis < 0 || (shape[axis] == 1 && dy.shape()[i] != 1)) over.push_back(i);
  }
  return over.empty() ? dy : reshape(sum(dy, over), shape);
}
Grads grad_linear(const NoAttrs&, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  const Shape& weight = c.meta(1).shape;
  const int64_t k = weight.back(), n = weight.rank() == 2 ? weight[0] : 1;
  const int64_t rows = k == 0 ? (n == 0 ? 0 : dy.numel() / n) : c.meta(0).shape.numel() / k;
  Grads grads(3, {});
  if (c.needs(0)) grads[0] = weight.rank() == 2 ? product(dy, c.input(1)) : unsqueeze(dy, -1) * c.input(1);
  if (c.needs(1)) {
    const TensorHandle x = reshape(c.input(0), Dims{rows, k});
    grads[1] = reshape(product(transpose(reshape(dy, Dims{rows, n}), 0, 1), x), weight);
  }
  if (c.needs(2)) grads[2] = summed_to(dy, c.meta(2).shape);
  return grads;
}
Tensors decompose_linear(const NoAttrs&, Inputs in) {
  const TensorHandle turned = t(*in[1]), &bias = *in[2];
  const bool one_pass = bias.defined() && bias.rank() == 1 && in[1]->rank() == 2 && bias.shape()[0] == in[1]->shape()[0];
  if (one_pass) return {product(*in[0], turned, bias)};
  const TensorHandle y = product(*in[0], turned);
  return {bias.defined() ? y + bias : y};
}
int64_t cost_linear(std::span<const Shape* const> in, const Shape& out) { return Checked(out.numel()) * in[1]->back(); }
}  // namespace

namespace op {
constinit OpInfo linear = define<NoAttrs, infer_linear, grad_linear, decompose_linear>(
    {.schema = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
        .doc =
            "Applies a linear transformation: input @ weight.T + bias, for input (*, in_features) and weight (out_features, in_features).",
        .kind = Kind::contract,
        .autocast = Autocast::lower,
        .reads = {{1}, {0}, {}},
        .fusing = Fusing::begins,
        .multiply_adds = cost_linear,
        .torch = "torch.nn.functional.linear",
        .example = "pyburn.linear(pyburn.ones(2, 3), pyburn.ones(4, 3)).shape",
        .samples = R"(
t(2, 3), t(4, 3)
t(2, 3), t(4, 3), t(4)
t(3), t(4, 3), bias=t(4)
t(2, 3), t(3)
t(5, 2, 3), t(4, 3), t(4)
t(0, 3), t(4, 3), t(4)
t(3, 2).T, t(3, 4).T
t(1, 3).expand(2, 3), t(4, 3)
t(), t(4, 3) ! at least 1D
t(2, 3), t(4, 5) ! expected 5 features, got 3)"});
}  // namespace op

namespace {
constexpr const char* kAddmm = R"(
t(2, 4), t(2, 3), t(3, 4)
t(4), t(2, 3), t(3, 4), beta=0.5, alpha=2
t(), t(2, 3), t(3, 4), beta=0
t(0, 4), t(0, 3), t(3, 4)
t(2, 4), t(2, 0), t(0, 4)
t(4, 2).T, t(3, 2).T, t(3, 4)
t(1, 4).expand(2, 4), t(2, 3), t(3, 4)
t(2, 4, dtype=i64), t(2, 3, dtype=i64), t(3, 4, dtype=i64), beta=2, alpha=3
t(2, 4, dtype=f64), t(2, 3, dtype=f64), t(3, 4, dtype=f64)
t(2, 4), t(2, 3), t(4, 4) ! inner dimensions differ
t(2, 4), t(3), t(3, 4) ! matrices
t(3, 4), t(2, 3), t(3, 4) ! does not match
t(2, 4, dtype=i64), t(2, 3, dtype=i64), t(3, 4, dtype=i64), alpha=0.5 ! integers)";
constexpr const char* kBatches = R"(
t(2, 5), t(3, 2, 4), t(3, 4, 5)
t(5), t(3, 2, 4), t(3, 4, 5), beta=0.5, alpha=2
t(), t(3, 2, 4), t(3, 4, 5), beta=0
t(2, 5), t(0, 2, 4), t(0, 4, 5)
t(5, 2).T, t(3, 4, 2).transpose(1, 2), t(3, 4, 5)
t(1, 5).expand(2, 5), t(3, 2, 4), t(3, 4, 5)
t(2, 5), t(3, 2, 4), t(4, 4, 5) ! batch
t(4, 5), t(3, 2, 4), t(3, 4, 5) ! does not match
t(2, 5), t(2, 4), t(3, 4, 5) ! batches)";

constinit FunctionInfo functions[] = {
    {.schema = "matmul(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes the matrix product; 1-d tensors are vectors, and leading dimensions are batch dimensions that broadcast.",
        .example = "pyburn.matmul(pyburn.ones(2, 3), pyburn.ones(3, 4)).shape",
        .samples = R"(
t(2, 3), t(3, 4)
t(3), t(3)
t(3), t(3, 4)
t(2, 3), t(3)
t(5, 2, 3), t(3, 4)
t(2, 3), t(5, 3, 4)
t(5, 1, 2, 3), t(6, 3, 4)
t(0, 3), t(3, 2)
t(2, 0), t(0, 2)
t(3, 2).T, t(4, 3).T
t(1, 3).expand(2, 3), t(3, 4)
t(2, 3, dtype=bf16), t(3, 4, dtype=bf16)
t(), t(2) ! at least 1D
t(2, 3), t(4, 5) ! inner dimensions differ
t(2, 3), t(3, 4, dtype=f64) ! equal dtypes)",
        .out = true},
    {.schema = "mm(Tensor input, Tensor mat2) -> Tensor",
        .doc = "Multiplies two matrices: (N, M) @ (M, P) gives (N, P).",
        .example = "pyburn.mm(pyburn.ones(2, 3), pyburn.ones(3, 4)).shape",
        .samples = R"(
t(2, 3), t(3, 4)
t(1, 1), t(1, 1)
t(0, 3), t(3, 4)
t(3, 2).T, t(3, 4)
t(1, 3).expand(2, 3), t(3, 4)
t(2, 3, dtype=i32), t(3, 4, dtype=i32)
t(), t(3, 4) ! matrices
t(3), t(3, 4) ! matrices
t(2, 3), t(4, 5) ! inner dimensions differ)",
        .out = true},
    {.schema = "mv(Tensor input, Tensor vec) -> Tensor",
        .doc = "Multiplies a matrix by a vector: (N, M) @ (M) gives (N).",
        .example = "pyburn.mv(pyburn.ones(2, 3), pyburn.ones(3))",
        .samples = R"(
t(2, 3), t(3)
t(0, 3), t(3)
t(3, 2).T, t(3)
t(1, 3).expand(2, 3), t(3)
t(2, 3, dtype=i64), t(3, dtype=i64)
t(), t(3) ! matrix
t(2, 3), t(2) ! inner dimensions differ)",
        .out = true},
    {.schema = "dot(Tensor input, Tensor tensor) -> Tensor",
        .doc = "Computes the dot product of two 1-d tensors.",
        .example = "pyburn.dot(pyburn.ones(3), pyburn.ones(3))",
        .samples = R"(
t(4), t(4)
t(0), t(0)
t(1), t(1)
t(8)[::2], t(4)
t(1).expand(4), t(4)
t(4, dtype=i64), t(4, dtype=i64)
t(), t() ! vectors
t(4), t(3) ! inner dimensions differ)",
        .out = true},
    {.schema = "vdot(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes the dot product of two 1-d tensors.",
        .example = "pyburn.vdot(pyburn.ones(3), pyburn.ones(3))",
        .samples =
            "t(4), t(4)\nt(0), t(0)\nt(8)[::2], t(4)\nt(1).expand(4), t(4)\nt(), t() ! vectors\nt(4), t(3) ! inner dimensions differ",
        .out = true},
    {.schema = "inner(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes dot products over the last dimension of both tensors.",
        .example = "pyburn.inner(pyburn.ones(2, 3), pyburn.ones(4, 3)).shape",
        .samples = R"(
t(3), t(3)
t(2, 3), t(4, 3)
t(2, 2, 3), t(3)
t(), t(2, 3)
t(0, 3), t(2, 3)
t(3, 2).T, t(4, 3)
t(1, 3).expand(2, 3), t(4, 3)
t(2, 3), t(4, 2) ! inner dimensions differ)",
        .out = true},
    {.schema = "outer(Tensor input, Tensor vec2) -> Tensor",
        .doc = "Computes the outer product of two 1-d tensors.",
        .example = "pyburn.outer(pyburn.tensor([1., 2.]), pyburn.tensor([3., 4.]))",
        .samples = "t(2), t(3)\nt(0), t(3)\nt(6)[::2], t(3)\nt(1).expand(2), t(3)\nt(2, dtype=i64), t(3)\nt(), t(3) ! vectors",
        .out = true},
    {.schema = "ger(Tensor input, Tensor vec2) -> Tensor",
        .doc = "Computes the outer product of two 1-d tensors; alias of outer.",
        .example = "pyburn.ger(pyburn.tensor([1., 2.]), pyburn.tensor([3., 4.]))",
        .samples = "t(2), t(3)\nt(0), t(3)\nt(6)[::2], t(3)\nt(1).expand(2), t(3)\nt(), t(3) ! vectors",
        .out = true},
    {.schema = "addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        .doc = "Computes beta * input + alpha * (mat1 @ mat2). If beta is 0, input is ignored.",
        .example = "pyburn.addmm(pyburn.ones(4), pyburn.ones(2, 3), pyburn.ones(3, 4))",
        .samples = kAddmm,
        .in_place = true},
    {.schema = "addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        .doc = "Computes beta * input + alpha * (mat @ vec). If beta is 0, input is ignored.",
        .example = "pyburn.addmv(pyburn.ones(2), pyburn.ones(2, 3), pyburn.ones(3))",
        .samples = R"(
t(2), t(2, 3), t(3)
t(), t(2, 3), t(3), beta=0.5, alpha=2
t(1).expand(2), t(2, 3), t(3), beta=0
t(0), t(0, 3), t(3)
t(4)[::2], t(3, 2).T, t(3)
t(3), t(2, 3), t(3) ! does not match
t(2), t(2, 3), t(2) ! inner dimensions differ)",
        .in_place = true},
    {.schema = "addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        .doc = "Computes beta * input + alpha * outer(vec1, vec2). If beta is 0, input is ignored.",
        .example = "pyburn.addr(pyburn.zeros(2, 3), pyburn.ones(2), pyburn.ones(3))",
        .samples = R"(
t(2, 3), t(2), t(3)
t(), t(2), t(3), beta=0.5, alpha=2
t(1, 3).expand(2, 3), t(2), t(3), beta=0
t(0, 3), t(0), t(3)
t(3, 2).T, t(4)[::2], t(3)
t(2, 4), t(2), t(3) ! does not match
t(2, 3), t(), t(3) ! vectors)",
        .in_place = true},
    {.schema = "addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        .doc = "Computes beta * input + alpha * the sum over the batch of batch1 @ batch2.",
        .example = "pyburn.addbmm(pyburn.zeros(2, 4), pyburn.ones(5, 2, 3), pyburn.ones(5, 3, 4))",
        .samples = kBatches,
        .in_place = true},
    {.schema = "baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        .doc = "Computes beta * input + alpha * (batch1 @ batch2) for batches of matrices.",
        .example = "pyburn.baddbmm(pyburn.zeros(2, 4), pyburn.ones(5, 2, 3), pyburn.ones(5, 3, 4)).shape",
        .samples = kBatches,
        .in_place = true},
    {.schema = "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
        .doc = "Applies a bilinear transformation: x1.T @ weight[o] @ x2 + bias[o] for each output feature o.",
        .torch = "torch.nn.functional.bilinear",
        .example = "pyburn.bilinear(pyburn.ones(2, 3), pyburn.ones(2, 4), pyburn.ones(5, 3, 4)).shape",
        .samples = R"(
t(2, 3), t(2, 4), t(5, 3, 4)
t(2, 3), t(2, 4), t(5, 3, 4), t(5)
t(2, 2, 3), t(2, 2, 4), t(5, 3, 4), bias=t(5)
t(3), t(4), t(5, 3, 4)
t(0, 3), t(0, 4), t(5, 3, 4)
t(3, 2).T, t(2, 4), t(5, 3, 4)
t(1, 3).expand(2, 3), t(2, 4), t(5, 3, 4)
t(), t(4), t(5, 3, 4) ! does not match
t(2, 3), t(2, 3), t(5, 3, 4) ! does not match)"},
};

// input @ other under the name of the function that users called, plus `start`: a vector along the last axis, or undefined.
TensorHandle product(const TensorHandle& left, const TensorHandle& right, const TensorHandle& start) {
  const TensorHandle input = lowered(left), other = lowered(right);
  require(input.rank() > 0 && other.rank() > 0, "both arguments need to be at least 1D: got {} and {}", input.shape(), other.shape());
  const TensorHandle a = input.rank() == 1 ? unsqueeze(input, 0) : TensorHandle(input);
  const TensorHandle b = other.rank() == 1 ? unsqueeze(other, 1) : TensorHandle(other);
  const int64_t m = a.shape()[a.rank() - 2], k = a.shape().back(), n = b.shape().back();
  require(k == b.shape()[b.rank() - 2], "inner dimensions differ: got {} and {}", input.shape(), other.shape());
  check_dtypes(a.dtype(), b.dtype());
  Shape batch_a = a.shape(), batch_b = b.shape();
  batch_a.resize(a.rank() - 2);
  batch_b.resize(b.rank() - 2);
  TensorHandle y;
  if (batch_b.empty()) {  // one matrix on the right: the batch of the left is rows
    const int64_t rows = Checked(batch_a.numel()) * m;
    const TensorHandle rows_of_a = unsqueeze(a.rank() == 2 ? a : reshape(a, Dims{rows, k}), 0);
    y = start.defined() ? bmm_plus(expand(start, Dims{1, rows, n}), rows_of_a, unsqueeze(b, 0)) : bmm(rows_of_a, unsqueeze(b, 0));
    Dims size = batch_a;
    size.push_back(m), size.push_back(n);
    y = batch_a.empty() ? remove_axis(y, 0) : reshape(y, size);
  } else {
    Dims batch = broadcast_shapes(batch_a, batch_b), size_a = batch, size_b = batch, size = batch;
    size_a.push_back(m), size_a.push_back(k);
    size_b.push_back(k), size_b.push_back(n);
    size.push_back(m), size.push_back(n);
    const int64_t count = Shape(batch).numel();
    y = bmm(reshape(expand(a, size_a), Dims{count, m, k}), reshape(expand(b, size_b), Dims{count, k, n}));
    y = reshape(y, size);
  }
  if (input.rank() == 1) y = remove_axis(y, y.rank() - 2);
  if (other.rank() == 1) y = remove_axis(y, y.rank() - 1);
  return independent(y);
}

// Can a matrix (or a batch of them) of that shape be added to the product?
void check_fit(const Shape& x, const Shape& y) {
  bool fits = x.rank() <= y.rank();
  for (int k = 1; fits && k <= x.rank(); ++k) fits = x[x.rank() - k] == 1 || x[x.rank() - k] == y[y.rank() - k];
  require(fits, "the shape of input does not match the product: got {} for {}", x, y);
}
// beta * input + alpha * product. Where beta is 0 the input may hold anything, even NaN.
TensorHandle combined(const TensorHandle& input, const TensorHandle& product, const Scalar& beta, const Scalar& alpha) {
  check_fit(input.shape(), product.shape());
  if (!is_floating(promote(input.dtype(), product.dtype())))
    require<DTypeError>(!beta.is_floating() && !alpha.is_floating(), "expected integers for alpha and beta: got {} and {}", alpha, beta);
  if (beta.to_double() == 0) return times(product, alpha);
  return add(times(input, beta), product, alpha);
}
// The same of the products of two batches, in one pass.
TensorHandle accumulated(
    const TensorHandle& input, const TensorHandle& batch1, const TensorHandle& batch2, const Scalar& beta, const Scalar& alpha) {
  const TensorHandle start = lowered(input), left = lowered(batch1), right = lowered(batch2);
  const Shape shape = infer(NoAttrs{}, std::array{Meta{left.shape(), left.dtype()}, Meta{right.shape(), right.dtype()}}).shape;
  check_fit(start.shape(), shape);
  check_dtypes(start.dtype(), left.dtype());
  if (beta.to_double() == 0) return combined(start, bmm(left, right), beta, alpha);
  return bmm_plus(expand(start, shape), left, right, beta, alpha);
}

}  // namespace

TensorHandle fn::matmul(const TensorHandle& input, const TensorHandle& other) {
  return naming("matmul", [&] { return product(input, other); });
}
TensorHandle fn::mm(const TensorHandle& input, const TensorHandle& mat2) {
  require(input.rank() == 2 && mat2.rank() == 2, "expected two matrices: got {} and {}", input.shape(), mat2.shape());
  return product(input, mat2);
}
TensorHandle fn::mv(const TensorHandle& input, const TensorHandle& vec) {
  require(input.rank() == 2 && vec.rank() == 1, "expected a matrix and a vector: got {} and {}", input.shape(), vec.shape());
  return product(input, vec);
}
TensorHandle fn::dot(const TensorHandle& input, const TensorHandle& tensor) {
  require(input.rank() == 1 && tensor.rank() == 1, "expected two vectors: got {} and {}", input.shape(), tensor.shape());
  return product(input, tensor);
}
TensorHandle fn::vdot(const TensorHandle& input, const TensorHandle& other) { return dot(input, other); }

TensorHandle fn::inner(const TensorHandle& input, const TensorHandle& other) {
  if (input.rank() == 0 || other.rank() == 0) return input * other;
  const int64_t k = input.shape().back();
  require(k == other.shape().back(), "inner dimensions differ: got {} and {}", input.shape(), other.shape());
  Dims size = input.shape();
  size.pop_back();
  const int64_t rows = Shape(size).numel(), columns = other.rank() == 1 ? 1 : other.numel() / std::max<int64_t>(k, 1);
  size.append(other.shape().begin(), other.shape().end() - 1);
  const TensorHandle left = reshape(input, Dims{rows, k}), right = reshape(other, Dims{columns, k});
  return independent(reshape(product(left, transpose(right, 0, 1)), size));
}

TensorHandle fn::outer(const TensorHandle& input, const TensorHandle& vec2) {
  require(input.rank() == 1 && vec2.rank() == 1, "expected two vectors: got {} and {}", input.shape(), vec2.shape());
  return unsqueeze(input, 1) * vec2;
}
TensorHandle fn::ger(const TensorHandle& input, const TensorHandle& vec2) { return outer(input, vec2); }

TensorHandle fn::addmm(
    const TensorHandle& input, const TensorHandle& mat1, const TensorHandle& mat2, const Scalar& beta, const Scalar& alpha) {
  require(mat1.rank() == 2 && mat2.rank() == 2, "expected two matrices: got {} and {}", mat1.shape(), mat2.shape());
  require(input.rank() <= 2, "the shape of input does not match the product: got {} for {}", input.shape(),
      Shape{mat1.shape()[0], mat2.shape()[1]});
  require(mat1.shape()[1] == mat2.shape()[0], "inner dimensions differ: got {} and {}", mat1.shape(), mat2.shape());
  return independent(remove_axis(accumulated(input, unsqueeze(mat1, 0), unsqueeze(mat2, 0), beta, alpha), 0));
}
TensorHandle fn::addmv(
    const TensorHandle& input, const TensorHandle& mat, const TensorHandle& vec, const Scalar& beta, const Scalar& alpha) {
  require(mat.rank() == 2 && vec.rank() == 1, "expected a matrix and a vector: got {} and {}", mat.shape(), vec.shape());
  require(mat.shape()[1] == vec.shape()[0], "inner dimensions differ: got {} and {}", mat.shape(), vec.shape());
  check_fit(input.shape(), Shape{mat.shape()[0]});
  return independent(remove_axis(addmm(input.rank() == 1 ? unsqueeze(input, 1) : input, mat, unsqueeze(vec, 1), beta, alpha), 1));
}
TensorHandle fn::addr(
    const TensorHandle& input, const TensorHandle& vec1, const TensorHandle& vec2, const Scalar& beta, const Scalar& alpha) {
  return combined(input, outer(vec1, vec2), beta, alpha);
}
TensorHandle fn::baddbmm(
    const TensorHandle& input, const TensorHandle& batch1, const TensorHandle& batch2, const Scalar& beta, const Scalar& alpha) {
  return accumulated(input, batch1, batch2, beta, alpha);
}
// The sum over the batch is part of the inner dimension of one product.
TensorHandle fn::addbmm(
    const TensorHandle& input, const TensorHandle& batch1, const TensorHandle& batch2, const Scalar& beta, const Scalar& alpha) {
  const Shape &a = batch1.shape(), &b = batch2.shape();
  require(a.rank() == 3 && b.rank() == 3, "expected two batches of matrices: got {} and {}", a, b);
  require(a[0] == b[0], "batch sizes differ: got {} and {}", a, b);
  require(a[2] == b[1], "inner dimensions differ: got {} and {}", a, b);
  const TensorHandle left = reshape(transpose(batch1, 0, 1), Dims{a[1], a[0] * a[2]}), right = reshape(batch2, Dims{b[0] * b[1], b[2]});
  return addmm(input, left, right, beta, alpha);
}

TensorHandle fn::bilinear(const TensorHandle& input1, const TensorHandle& input2, const TensorHandle& weight, const TensorHandle& bias) {
  require(weight.rank() == 3, "expected a weight with 3 dimensions: got {}", weight.shape());
  const int64_t o = weight.shape()[0], i = weight.shape()[1], j = weight.shape()[2];
  Dims size = input1.shape(), other = input2.shape();
  const bool fits = !size.empty() && size.size() == other.size() && size.back() == i && other.back() == j;
  size.resize(std::max<int64_t>(0, size.size() - 1));
  other.resize(std::max<int64_t>(0, other.size() - 1));
  require(fits && size == other, "the shape of weight does not match the inputs: got {} for {} and {}", weight.shape(), input1.shape(),
      input2.shape());
  const int64_t n = Shape(size).numel();
  const TensorHandle left = product(reshape(input1, Dims{n, i}), reshape(transpose(weight, 0, 1), Dims{i, o * j}));
  size.push_back(o);
  const TensorHandle y = reshape(bmm(reshape(left, Dims{n, o, j}), reshape(input2, Dims{n, j, 1})), size);
  return bias.defined() ? y + lowered(bias) : TensorHandle(independent(y));
}

void register_matmul(OpTable& table) {
  table.add({&op::bmm, &op::bmm_plus, &op::linear});
  table.add(functions);
}

}  // namespace pyburn
