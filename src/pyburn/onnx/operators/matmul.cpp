// Products of matrices.
#include "pyburn/ops/generated/matmul.h"

#include <algorithm>

#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/einsum.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/solvers.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

Results matmul(Call& c) { return fn::matmul(c.input(0), c.input(1)); }

// alpha * A @ B + beta * C. The form of a linear layer, which exporters write, is one operation.
Results gemm(Call& c) {
  TensorHandle a = c.input(0), b = c.input(1);
  require(a.rank() == 2 && b.rank() == 2, "[gemm] expected two matrices: got {} and {}", a.shape(), b.shape());
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const TensorHandle bias = c.optional_input(2);
  if (c.flag("transA")) a = fn::transpose(a, 0, 1);
  const bool transposed = c.flag("transB"),
             plain_bias = !bias.defined() || (beta == 1 && bias.rank() == 1 && bias.shape()[0] == b.shape()[transposed ? 0 : 1]);
  if (alpha == 1 && plain_bias && is_floating(a.dtype())) return fn::linear(a, transposed ? b : fn::transpose(b, 0, 1), bias);
  TensorHandle product = fn::matmul(a, transposed ? fn::transpose(b, 0, 1) : b);
  const bool whole = is_integral(product.dtype());
  const auto scale = [whole](const TensorHandle& x, double by) {
    return by == 1 ? x : whole ? fn::cast(fn::mul(fn::cast(x, DType::float64), by), x.dtype()) : fn::mul(x, by);
  };
  product = scale(product, alpha);
  return bias.defined() && beta != 0 ? fn::add(product, scale(bias, beta)) : product;
}

Results einsum(Call& c) {
  std::string equation = c.text("equation");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  return fn::einsum(equation, c.tensors_from(0));
}

Results det(Call& c) { return fn::det(c.input(0)); }

constexpr Operator kRows[] = {
    {"", "MatMul", 1, matmul},
    {"", "Gemm", 1, gemm},
    {"", "Einsum", 12, einsum},
    {"", "Det", 11, det},
};

}  // namespace

std::span<const Operator> matmul_operators() { return kRows; }

}  // namespace pyburn::onnx
