// Matrix products.
#include "pyburn/ops/matmul.h"

#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const NoAttrs&, Metas in) {
  const Shape &a = in[0].shape, &b = in[1].shape;
  require(a.rank() == 3 && b.rank() == 3, "expected two batches of matrices: got {} and {}", a, b);
  require(a[0] == b[0], "batch sizes differ: got {} and {}", a, b);
  require(a[2] == b[1], "inner dimensions differ: got {} and {}", a, b);
  require<DTypeError>(in[0].dtype == in[1].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, in[1].dtype);
  return {Shape{a[0], a[1], b[2]}, in[0].dtype};
}
Grads grad_bmm(const NoAttrs&, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  return {c.needs(0) ? bmm(dy, transpose(c.input(1), 1, 2)) : Tensor(), c.needs(1) ? bmm(transpose(c.input(0), 1, 2), dy) : Tensor()};
}

}  // namespace

namespace op {
constinit OpInfo bmm = define<NoAttrs, infer, grad_bmm>({.schema = "bmm(Tensor input, Tensor mat2) -> Tensor",
    .doc = "Products of the matrices of two batches.",
    .kind = Kind::contract,
    .saves = others,
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
t(2, 3, 4), t(2, 5, 6) ! inner dimensions differ)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "matmul(Tensor input, Tensor other) -> Tensor",
        .doc = "Matrix product; vectors are rows or columns, leading axes are batches that broadcast.",
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
t(), t(2) ! at least one axis
t(2, 3), t(4, 5) ! inner dimensions differ)"},
    {.schema = "mm(Tensor input, Tensor mat2) -> Tensor",
        .doc = "Product of two matrices.",
        .example = "pyburn.mm(pyburn.ones(2, 3), pyburn.ones(3, 4)).shape",
        .samples = "t(2, 3), t(3, 4)\nt(1, 1), t(1, 1)\nt(0, 3), t(3, 4)\nt(3, 2).T, t(3, 4)\nt(1, 3).expand(2, 3), t(3, 4)\nt(), t(3, 4) "
                   "! matrices\nt(3), t(3, 4) ! matrices\nt(2, 3), t(4, 5) ! inner dimensions differ"},
    {.schema = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
        .doc = "input @ weight.T + bias.",
        .torch = "torch.nn.functional.linear",
        .example = "pyburn.linear(pyburn.ones(2, 3), pyburn.ones(4, 3)).shape",
        .samples = "t(2, 3), t(4, 3)\nt(2, 3), t(4, 3), t(4)\nt(3), t(4, 3), bias=t(4)\nt(5, 2, 3), t(4, 3), t(4)\nt(0, 3), t(4, 3), t(4)\n"
                   "t(3, 2).T, t(3, 4).T\nt(1, 3).expand(2, 3), t(4, 3)\nt(), t(4, 3) ! at least one axis\nt(2, 3), t(4, 5) ! inner "
                   "dimensions differ"},
};
}  // namespace

Tensor matmul(const TensorHandle& input, const TensorHandle& other) {
  require(
      input.rank() > 0 && other.rank() > 0, "[matmul] both operands need at least one axis: got {} and {}", input.shape(), other.shape());
  Tensor a = input.rank() == 1 ? unsqueeze(input, 0) : Tensor(input);
  Tensor b = other.rank() == 1 ? unsqueeze(other, 1) : Tensor(other);
  const int64_t m = a.shape()[a.rank() - 2], k = a.shape().back(), n = b.shape().back();
  require(k == b.shape()[b.rank() - 2], "[matmul] inner dimensions differ: got {} and {}", input.shape(), other.shape());
  Shape batch_a = a.shape(), batch_b = b.shape();
  batch_a.resize(a.rank() - 2);
  batch_b.resize(b.rank() - 2);
  Tensor y;
  if (batch_b.empty()) {  // one matrix on the right: the batch of the left is rows
    y = bmm(unsqueeze(a.rank() == 2 ? a : reshape(a, Dims{batch_a.numel() * m, k}), 0), unsqueeze(b, 0));
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

Tensor mm(const TensorHandle& input, const TensorHandle& mat2) {
  require(input.rank() == 2 && mat2.rank() == 2, "[mm] expected two matrices: got {} and {}", input.shape(), mat2.shape());
  return matmul(input, mat2);
}

Tensor linear(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& bias) {
  const Tensor y = matmul(input, t(weight));
  return bias.defined() ? y + bias : y;
}

void register_matmul(OpTable& table) {
  table.add({&op::bmm});
  table.add(functions);
}

}  // namespace pyburn
