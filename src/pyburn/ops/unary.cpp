// Elementwise functions of one tensor.
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const NoAttrs&, Metas in) { return in[0]; }
Meta infer_number(const NoAttrs&, Metas in) {
  require<DTypeError>(in[0].dtype != DType::boolean, "not defined for bool: use logical_not for bool tensors");
  return in[0];
}

Grads grad_neg(const NoAttrs&, const GradContext& c) { return {-c.dy()}; }
Grads grad_abs(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {where(gt(x, 0), c.dy(), where(lt(x, 0), -c.dy(), 0.0))};
}
Grads grad_exp(const NoAttrs&, const GradContext& c) { return {c.dy() * c.output()}; }
Grads grad_log(const NoAttrs&, const GradContext& c) { return {c.dy() / c.input(0)}; }
Grads grad_sqrt(const NoAttrs&, const GradContext& c) { return {c.dy() / (c.output() * 2.0)}; }
Grads grad_rsqrt(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * (y * y * y * -0.5)};
}
Grads grad_sin(const NoAttrs&, const GradContext& c) { return {c.dy() * cos(c.input(0))}; }
Grads grad_cos(const NoAttrs&, const GradContext& c) { return {-(c.dy() * sin(c.input(0)))}; }
Grads grad_tanh(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * (1.0 - y * y)};
}
Grads grad_sigmoid(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * (y * (1.0 - y))};
}
Grads grad_relu(const NoAttrs&, const GradContext& c) { return {where(gt(c.output(), 0), c.dy(), 0.0)}; }

// One list for all; the functions that need positive arguments take `positive`.
constexpr const char* kAny = R"(
t(2, 3)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(3, 4)[:, ::2]
t(5, dtype=f64)
t(5, dtype=f16)
t(5, dtype=bf16)
t(5, dtype=i64)
t(3000)
'text' ! Tensor)";
constexpr const char* kPositive = R"(
positive(2, 3)
positive()
positive(0, 3)
positive(4, 3).T
positive(2, 1).expand(2, 5)
positive(5, dtype=f64)
positive(5, dtype=f16)
positive(5, dtype=i32)
positive(3000)
None ! Tensor)";

constexpr OpInfo floating(OpInfo row) {
  row.kind = Kind::elementwise;
  row.cast = Cast::promote_float;
  row.samples = kAny;
  return row;
}
constexpr OpInfo positive(OpInfo row) {
  row = floating(row);
  row.samples = kPositive;
  return row;
}

}  // namespace

namespace op {
constinit OpInfo neg = define<NoAttrs, infer_number, grad_neg>({.schema = "neg(Tensor input) -> Tensor",
    .doc = "Minus the elements of input.",
    .kind = Kind::elementwise,
    .example = "pyburn.neg(pyburn.tensor([1., -2.]))",
    .samples = kAny});
constinit OpInfo abs = define<NoAttrs, infer_number, grad_abs>({.schema = "abs(Tensor input) -> Tensor",
    .doc = "Absolute value of the elements.",
    .kind = Kind::elementwise,
    .saves = inputs,
    .example = "pyburn.abs(pyburn.tensor([1., -2.]))",
    .samples = kAny});
constinit OpInfo exp = floating(define<NoAttrs, infer, grad_exp>({.schema = "exp(Tensor input) -> Tensor",
    .doc = "e to the power of the elements.",
    .saves = outputs,
    .example = "pyburn.exp(pyburn.tensor([0., 1.]))"}));
constinit OpInfo log = positive(define<NoAttrs, infer, grad_log>({.schema = "log(Tensor input) -> Tensor",
    .doc = "Natural logarithm of the elements.",
    .saves = inputs,
    .example = "pyburn.log(pyburn.tensor([1., 2.]))"}));
constinit OpInfo sqrt = positive(define<NoAttrs, infer, grad_sqrt>({.schema = "sqrt(Tensor input) -> Tensor",
    .doc = "Square root of the elements.",
    .saves = outputs,
    .example = "pyburn.sqrt(pyburn.tensor([1., 4.]))"}));
constinit OpInfo rsqrt = positive(define<NoAttrs, infer, grad_rsqrt>({.schema = "rsqrt(Tensor input) -> Tensor",
    .doc = "One over the square root of the elements.",
    .saves = outputs,
    .example = "pyburn.rsqrt(pyburn.tensor([1., 4.]))"}));
constinit OpInfo sin = floating(define<NoAttrs, infer, grad_sin>({.schema = "sin(Tensor input) -> Tensor",
    .doc = "Sine of the elements.",
    .saves = inputs,
    .example = "pyburn.sin(pyburn.tensor([0., 1.]))"}));
constinit OpInfo cos = floating(define<NoAttrs, infer, grad_cos>({.schema = "cos(Tensor input) -> Tensor",
    .doc = "Cosine of the elements.",
    .saves = inputs,
    .example = "pyburn.cos(pyburn.tensor([0., 1.]))"}));
constinit OpInfo tanh = floating(define<NoAttrs, infer, grad_tanh>({.schema = "tanh(Tensor input) -> Tensor",
    .doc = "Hyperbolic tangent of the elements.",
    .saves = outputs,
    .example = "pyburn.tanh(pyburn.tensor([0., 1.]))"}));
constinit OpInfo sigmoid = floating(define<NoAttrs, infer, grad_sigmoid>({.schema = "sigmoid(Tensor input) -> Tensor",
    .doc = "1 / (1 + exp(-x)) of the elements.",
    .saves = outputs,
    .example = "pyburn.sigmoid(pyburn.tensor([0., 1.]))"}));
constinit OpInfo relu = define<NoAttrs, infer_number, grad_relu>({.schema = "relu(Tensor input) -> Tensor",
    .doc = "The elements, with 0 in place of negative ones.",
    .kind = Kind::elementwise,
    .saves = outputs,
    .example = "pyburn.relu(pyburn.tensor([-1., 1.]))",
    .samples = kAny});
}  // namespace op

void register_unary(OpTable& table) {
  table.add({&op::neg, &op::abs, &op::exp, &op::log, &op::sqrt, &op::rsqrt, &op::sin, &op::cos, &op::tanh, &op::sigmoid, &op::relu});
}

}  // namespace pyburn
