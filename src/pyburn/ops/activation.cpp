// Activation functions of neural networks.
#include "pyburn/ops/activation.h"

#include <cmath>
#include <numbers>

#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"

namespace pyburn {

Gelu Gelu::from(const TensorHandle&, const std::string& approximate) {
  require<ValueError>(approximate == "none" || approximate == "tanh", "approximate must be 'none' or 'tanh': got '{}'", approximate);
  return {approximate == "tanh"};
}
Gelu Gelu::from(const TensorHandle& grad, const TensorHandle&, const std::string& approximate) { return from(grad, approximate); }

namespace {

Meta infer_softplus(const Softplus& a, Metas in) {
  require<ValueError>(a.beta != 0, "beta must not be 0: got {}", a.beta);
  return infer_floating(a, in);
}
Meta infer_shrink(const Shrink& a, Metas in) {
  require<ValueError>(a.lambd >= 0, "lambda must be in range [0, inf) for an input dtype of {}, but found {}", in[0].dtype, a.lambd);
  return infer_floating(a, in);
}
Meta infer_hardtanh(const Hardtanh& a, Metas in) {
  require<ValueError>(a.min.to_double() <= a.max.to_double(), "min_val must not be larger than max_val: got {} and {}", a.min, a.max);
  return infer_number(a, in);
}

TensorHandle inside(const TensorHandle& x, const Scalar& low, const Scalar& high) { return logical_and(gt(x, low), lt(x, high)); }
// NaN is neither: it passes gradients on in one function and not in the other, as in PyTorch.
TensorHandle outside(const TensorHandle& x, const Scalar& low, const Scalar& high) { return logical_or(le(x, low), ge(x, high)); }

Grads grad_relu(const NoAttrs&, const GradContext& c) { return {where(le(c.output(), 0), 0.0, c.dy())}; }  // a NaN lets it pass
Grads grad_sigmoid(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * (y * (1 - y))};
}

// gelu(x) = x P(x), where P is the normal distribution, or with the approximation the sigmoid of a polynomial 2 u.
constexpr double kGeluSlope = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kGeluCubic = 0.044715;  // 2 u = slope (x + cubic x^3)
std::string approximation(const Gelu& a) { return a.tanh ? "tanh" : "none"; }
TensorHandle normal_density(const TensorHandle& x) { return exp(x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2); }
Grads grad_gelu(const Gelu& a, const GradContext& c) { return {gelu_gradient(c.dy(), c.input(0), approximation(a))}; }
TensorHandle decompose_gelu(const Gelu& a, Inputs in) {
  const TensorHandle& x = *in[0];
  return x * (a.tanh ? sigmoid((x + x * x * x * kGeluCubic) * kGeluSlope) : erfc(x * -std::numbers::sqrt2 / 2) * 0.5);
}
TensorHandle decompose_gelu_gradient(const Gelu& a, Inputs in) {
  const TensorHandle &dy = *in[0], &x = *in[1];
  if (!a.tanh) return dy * (erfc(x * -std::numbers::sqrt2 / 2) * 0.5 + x * normal_density(x));
  const TensorHandle z = x * x, s = sigmoid((x + x * z * kGeluCubic) * kGeluSlope);
  return dy * (s + x * (s * (1 - s)) * ((z * (3 * kGeluCubic) + 1) * kGeluSlope));
}
Grads grad_gelu_gradient(const Gelu& a, const GradContext& c) {
  const TensorHandle dy = c.input(0), x = c.input(1);
  const TensorHandle ddy = c.needs(0) ? gelu_gradient(c.dy(), x, approximation(a)) : TensorHandle();
  if (!c.needs(1)) return {ddy, TensorHandle()};
  const TensorHandle z = x * x, g = c.dy() * dy;
  if (!a.tanh) return {ddy, g * (normal_density(x) * (2 - z))};
  // With s = sigmoid(w): (x s)'' = 2 s' w' + x (s'' w'^2 + s' w'')
  const TensorHandle s = sigmoid((x + x * z * kGeluCubic) * kGeluSlope), first = s * (1 - s), second = first * (1 - s * 2);
  const TensorHandle slope = (z * (3 * kGeluCubic) + 1) * kGeluSlope, bend = x * (6 * kGeluCubic * kGeluSlope);
  return {ddy, g * (first * slope * 2 + x * (second * slope * slope + first * bend))};
}

Grads grad_silu(const NoAttrs&, const GradContext& c) { return {silu_gradient(c.dy(), c.input(0))}; }
TensorHandle decompose_silu(const NoAttrs&, Inputs in) { return *in[0] * sigmoid(*in[0]); }
TensorHandle decompose_silu_gradient(const NoAttrs&, Inputs in) {
  const TensorHandle &dy = *in[0], &x = *in[1];
  const TensorHandle s = sigmoid(x);
  return dy * (s * (x * (1 - s) + 1));
}
Grads grad_silu_gradient(const NoAttrs&, const GradContext& c) {
  const TensorHandle dy = c.input(0), x = c.input(1);
  const TensorHandle s = sigmoid(x), first = s * (1 - s);
  return {
      c.needs(0) ? silu_gradient(c.dy(), x) : TensorHandle(), c.needs(1) ? c.dy() * dy * (first * (x * (1 - s * 2) + 2)) : TensorHandle()};
}

Grads grad_mish(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  const TensorHandle t = tanh(softplus(x)), s = sigmoid(x);
  return {c.dy() * (t + x * s * (1 - t * t))};
}
TensorHandle decompose_mish(const NoAttrs&, Inputs in) { return *in[0] * tanh(softplus(*in[0])); }
Grads grad_softplus(const Softplus& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {where(gt(x * a.beta, a.threshold), c.dy(), c.dy() * sigmoid(x * a.beta))};
}
TensorHandle decompose_softplus(const Softplus& a, Inputs in) {
  const TensorHandle z = *in[0] * a.beta;
  return where(gt(z, a.threshold), *in[0], (clamp_min(z, 0) + log1p(exp(-abs(z)))) / a.beta);
}
Grads grad_logsigmoid(const NoAttrs&, const GradContext& c) { return {c.dy() * sigmoid(-c.input(0))}; }
TensorHandle decompose_logsigmoid(const NoAttrs&, Inputs in) { return clamp_max(*in[0], 0) - log1p(exp(-abs(*in[0]))); }
Grads grad_hardtanh(const Hardtanh& a, const GradContext& c) { return {where(outside(c.input(0), a.min, a.max), 0.0, c.dy())}; }
TensorHandle decompose_hardtanh(const Hardtanh& a, Inputs in) { return clamp(*in[0], a.min, a.max); }
Grads grad_hardswish(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {where(le(x, -3), 0.0, where(lt(x, 3), c.dy() * (x / 3 + 0.5), c.dy()))};
}
TensorHandle decompose_hardswish(const NoAttrs&, Inputs in) { return *in[0] * clamp(*in[0] + 3, 0, 6) / 6; }
Grads grad_hardsigmoid(const NoAttrs&, const GradContext& c) { return {where(inside(c.input(0), -3, 3), c.dy() * (1.0 / 6), 0.0)}; }
TensorHandle decompose_hardsigmoid(const NoAttrs&, Inputs in) { return clamp(*in[0] + 3, 0, 6) / 6; }
Grads grad_leaky_relu(const LeakyRelu& a, const GradContext& c) { return {where(gt(c.input(0), 0), c.dy(), c.dy() * a.negative_slope)}; }
TensorHandle decompose_leaky_relu(const LeakyRelu& a, Inputs in) { return where(gt(*in[0], 0), *in[0], *in[0] * a.negative_slope); }
Grads grad_elu(const Elu& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  const TensorHandle negative = where(lt(x, 0), x, 0.0);  // the second derivative is that of the line at 0, and no exponential overflows
  return {where(le(x, 0), c.dy() * (exp(negative * a.input_scale) * (a.alpha * a.scale * a.input_scale)), c.dy() * a.scale)};
}
TensorHandle decompose_elu(const Elu& a, Inputs in) {
  return where(gt(*in[0], 0), *in[0] * a.scale, expm1(*in[0] * a.input_scale) * (a.alpha * a.scale));
}
Grads grad_shrink(const Shrink& a, const GradContext& c) { return {where(le(abs(c.input(0)), a.lambd), 0.0, c.dy())}; }
TensorHandle decompose_softshrink(const Shrink& a, Inputs in) { return *in[0] - clamp(*in[0], -a.lambd, a.lambd); }
TensorHandle decompose_hardshrink(const Shrink& a, Inputs in) { return where(le(abs(*in[0]), a.lambd), 0.0, *in[0]); }
Grads grad_threshold(const Threshold& a, const GradContext& c) { return {where(le(c.input(0), a.threshold), 0.0, c.dy())}; }
TensorHandle decompose_threshold(const Threshold& a, Inputs in) { return where(le(*in[0], a.threshold), a.value, *in[0]); }

// The lines of each function with arguments are its own.
constexpr OpInfo activation(OpInfo row, const char* samples = kFloatingSamples) {
  row.kind = Kind::elementwise;
  row.saves = inputs;
  row.samples = samples;
  return row;
}

}  // namespace

namespace op {
constinit OpInfo relu = define<NoAttrs, infer_number<NoAttrs>, grad_relu>({.schema = "relu(Tensor input) -> Tensor",
    .doc = "Applies the rectified linear unit element-wise: max(0, x).",
    .kind = Kind::elementwise,
    .saves = outputs,
    .example = "pyburn.relu(pyburn.tensor([-1., 1.]))",
    .samples = kAnySamples});
constinit OpInfo sigmoid = define<NoAttrs, infer_same<NoAttrs>, grad_sigmoid>({.schema = "sigmoid(Tensor input) -> Tensor",
    .doc = "Applies the logistic sigmoid element-wise: 1 / (1 + exp(-x)).",
    .kind = Kind::elementwise,
    .cast = Cast::promote_float,
    .saves = outputs,
    .example = "pyburn.sigmoid(pyburn.tensor([0., 1.]))",
    .samples = kAnySamples});
constinit OpInfo gelu = activation(
    define<Gelu, infer_floating<Gelu>, grad_gelu, decompose_gelu>({.schema = "gelu(Tensor input, *, str approximate='none') -> Tensor",
        .doc = "Applies the Gaussian error linear unit element-wise: x * Phi(x), with the standard normal distribution function Phi.",
        .torch = "torch.nn.functional.gelu",
        .example = "pyburn.gelu(pyburn.tensor([-1., 1.]))"}),
    R"(
t(2, 3)
t(2, 3), approximate='tanh'
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5), approximate='tanh'
t(5, dtype=f64)
t(5, dtype=f64), approximate='tanh'
t(5, dtype=f16)
t(5, dtype=bf16), approximate='tanh'
t(3000)
tensor([0., 30., -30., nan])
t(2), approximate='erf' ! approximate
t(2, dtype=i64) ! floating)");
constinit OpInfo gelu_gradient = activation(define<Gelu, infer_floating<Gelu>, grad_gelu_gradient, decompose_gelu_gradient>(
                                                {.schema = "gelu_gradient(Tensor grad, Tensor input, *, str approximate='none') -> Tensor",
                                                    .doc = "Computes the gradient of gelu with respect to its input.",
                                                    .torch = "torch.ops.aten.gelu_backward",
                                                    .example = "pyburn.gelu_gradient(pyburn.ones(2), pyburn.tensor([-1., 1.]))"}),
    R"(
t(2, 3), t(2, 3)
t(2, 3), t(2, 3), approximate='tanh'
t(), t()
t(0, 3), t(0, 3)
t(4, 3).T, t(3, 4)
t(2, 1).expand(2, 5), t(2, 5), approximate='tanh'
t(5, dtype=f64), t(5, dtype=f64)
t(5, dtype=f16), t(5, dtype=f16)
t(3000), t(3000)
t(2), t(2), approximate='erf' ! approximate)");
constinit OpInfo silu =
    activation(define<NoAttrs, infer_floating<NoAttrs>, grad_silu, decompose_silu>({.schema = "silu(Tensor input) -> Tensor",
        .doc = "Applies the sigmoid linear unit (swish) element-wise: x * sigmoid(x).",
        .torch = "torch.nn.functional.silu",
        .example = "pyburn.silu(pyburn.tensor([-1., 1.]))"}));
constinit OpInfo silu_gradient = activation(define<NoAttrs, infer_floating<NoAttrs>, grad_silu_gradient, decompose_silu_gradient>(
                                                {.schema = "silu_gradient(Tensor grad, Tensor input) -> Tensor",
                                                    .doc = "Computes the gradient of silu with respect to its input.",
                                                    .torch = "lambda g, x: g * torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x)))",
                                                    .example = "pyburn.silu_gradient(pyburn.ones(2), pyburn.tensor([-1., 1.]))"}),
    R"(
t(2, 3), t(2, 3)
t(), t()
t(0, 3), t(0, 3)
t(4, 3).T, t(3, 4)
t(2, 1).expand(2, 5), t(2, 5)
t(5, dtype=f64), t(5, dtype=f64)
t(5, dtype=f16), t(5, dtype=f16)
t(3000), t(3000)
t(2, dtype=i64), t(2, dtype=i64) ! floating)");
constinit OpInfo mish =
    activation(define<NoAttrs, infer_floating<NoAttrs>, grad_mish, decompose_mish>({.schema = "mish(Tensor input) -> Tensor",
        .doc = "Applies the Mish activation element-wise: x * tanh(softplus(x)).",
        .torch = "torch.nn.functional.mish",
        .example = "pyburn.mish(pyburn.tensor([-1., 1.]))"}));
constinit OpInfo softplus =
    activation(define<Softplus, infer_softplus, grad_softplus, decompose_softplus>(
                   {.schema = "softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor",
                       .doc = "Applies softplus element-wise: log(1 + exp(beta * x)) / beta, or x where beta * x > threshold.",
                       .autocast = Autocast::full,
                       .torch = "torch.nn.functional.softplus",
                       .example = "pyburn.softplus(pyburn.tensor([-1., 1.]))"}),
        R"(
t(2, 3)
t(2, 3), 2.0
t(2, 3), beta=0.5, threshold=0.25
t(), -1.0
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64)
t(5, dtype=f16), 3.0
t(3000)
tensor([0., 30., -30., nan, inf, -inf])
t(2), 0.0 ! beta
t(2, dtype=i64) ! floating)");
constinit OpInfo logsigmoid = activation(
    define<NoAttrs, infer_floating<NoAttrs>, grad_logsigmoid, decompose_logsigmoid>({.schema = "logsigmoid(Tensor input) -> Tensor",
        .doc = "Computes log(sigmoid(x)) element-wise in a numerically stable way.",
        .torch = "torch.nn.functional.logsigmoid",
        .example = "pyburn.logsigmoid(pyburn.tensor([-1., 1.]))"}));
constinit OpInfo hardtanh = activation(define<Hardtanh, infer_hardtanh, grad_hardtanh, decompose_hardtanh>(
                                           {.schema = "hardtanh(Tensor input, Scalar min_val=-1.0, Scalar max_val=1.0) -> Tensor",
                                               .doc = "Clamps all elements into the range [min_val, max_val].",
                                               .torch = "torch.nn.functional.hardtanh",
                                               .example = "pyburn.hardtanh(pyburn.tensor([-2., 0.5]))"}),
    R"(
t(2, 3)
t(2, 3), -0.5
t(2, 3), -0.5, 0.5
t(), 0, 2
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f16), 0.0, 6.0
t(5, dtype=i64), 0, 2
tensor([0., 1., -1., nan])
t(2), 1.0, 0.0 ! min_val)");
constinit OpInfo hardswish =
    activation(define<NoAttrs, infer_floating<NoAttrs>, grad_hardswish, decompose_hardswish>({.schema = "hardswish(Tensor input) -> Tensor",
        .doc = "Applies the hard swish activation element-wise: x * hardsigmoid(x).",
        .torch = "torch.nn.functional.hardswish",
        .example = "pyburn.hardswish(pyburn.tensor([-1., 4.]))"}));
constinit OpInfo hardsigmoid = activation(
    define<NoAttrs, infer_floating<NoAttrs>, grad_hardsigmoid, decompose_hardsigmoid>({.schema = "hardsigmoid(Tensor input) -> Tensor",
        .doc = "Applies the hard sigmoid element-wise: (x + 3) / 6, clamped to [0, 1].",
        .torch = "torch.nn.functional.hardsigmoid",
        .example = "pyburn.hardsigmoid(pyburn.tensor([-1., 4.]))"}),
    R"(
t(2, 3)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64).constant
t(5, dtype=f16)
tensor([0., inf, -inf, nan, 3., -3.])
t(5, dtype=i64) ! floating)");
constinit OpInfo leaky_relu =
    activation(define<LeakyRelu, infer_floating<LeakyRelu>, grad_leaky_relu, decompose_leaky_relu>(
                   {.schema = "leaky_relu(Tensor input, float negative_slope=0.01) -> Tensor",
                       .doc = "Applies the leaky rectified linear unit element-wise: x where x > 0, else negative_slope * x.",
                       .torch = "torch.nn.functional.leaky_relu",
                       .example = "pyburn.leaky_relu(pyburn.tensor([-1., 1.]), 0.1)"}),
        R"(
t(2, 3)
t(2, 3), 0.25
t(), -0.5
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64)
t(5, dtype=f16), negative_slope=0.5
tensor([0., nan, -inf])
t(2, dtype=i64) ! floating)");
constinit OpInfo elu = activation(
    define<Elu, infer_floating<Elu>, grad_elu, decompose_elu>(
        {.schema = "elu(Tensor input, float alpha=1.0, float scale=1.0, float input_scale=1.0) -> Tensor",
            .doc =
                "Applies the exponential linear unit element-wise: scale * x where x > 0, else scale * alpha * (exp(input_scale * x) - 1).",
            .torch = "torch._C._nn.elu",
            .example = "pyburn.elu(pyburn.tensor([-1., 1.]))"}),
    R"(
t(2, 3)
t(2, 3), 0.5
t(2, 3), 0.5, 2.0
t(), 0.5, 2.0, 1.5
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64), alpha=2.0
t(5, dtype=f16)
t(3000)
tensor([0., nan, -inf, inf])
t(2, dtype=i64) ! floating)");
constinit OpInfo softshrink = activation(
    define<Shrink, infer_shrink, grad_shrink, decompose_softshrink>({.schema = "softshrink(Tensor input, float lambd=0.5) -> Tensor",
        .doc = "Applies soft shrinkage element-wise: moves each element towards 0 by lambd, and to 0 where |x| <= lambd.",
        .torch = "torch.nn.functional.softshrink",
        .example = "pyburn.softshrink(pyburn.tensor([-1., 0.25]))"}),
    R"(
t(2, 3)
t(), 0.25
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5), 1.0
t(5, dtype=f64)
t(5, dtype=f16)
t(5), -1.0 ! lambd)");
constinit OpInfo hardshrink = activation(define<Shrink, infer_floating<Shrink>, grad_shrink, decompose_hardshrink>(
                                             {.schema = "hardshrink(Tensor input, float lambd=0.5) -> Tensor",
                                                 .doc = "Applies hard shrinkage element-wise: 0 where |x| <= lambd, else x.",
                                                 .example = "pyburn.hardshrink(pyburn.tensor([-1., 0.25]))"}),
    R"(
t(2, 3)
t(), 0.25
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5), 1.0
t(5, dtype=f64)
t(5, dtype=f16)
t(5, dtype=i64) ! floating)");
constinit OpInfo threshold = activation(define<Threshold, infer_number<Threshold>, grad_threshold, decompose_threshold>(
                                            {.schema = "threshold(Tensor input, Scalar threshold, Scalar value) -> Tensor",
                                                .doc = "Replaces elements that are not greater than threshold by value.",
                                                .example = "pyburn.threshold(pyburn.tensor([-1., 1.]), 0., 9.)"}),
    R"(
t(2, 3), 0.5, 2.0
t(), -0.5, 1.0
t(0, 3), 0, 1
t(4, 3).T, 0.5, 1
t(2, 1).expand(2, 5), 0, 2
t(5, dtype=f16), 0.5, 2
t(5, dtype=i64), 1, -7
t(2, dtype=b8), 1, 1 ! bool)");
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "relu6(Tensor input) -> Tensor",
        .doc = "Applies ReLU6 element-wise: min(max(0, x), 6).",
        .torch = "torch.nn.functional.relu6",
        .example = "pyburn.relu6(pyburn.tensor([-1., 9.]))",
        .samples = "t(2, 3)\nt()\nt(0, 3)\nt(4, 3).T\nt(2, 1).expand(2, 5)\ntensor([0., 6., 7., nan])\nNone ! Tensor",
        .in_place = true},
    {.schema = "selu(Tensor input) -> Tensor",
        .doc = "Applies the scaled exponential linear unit element-wise, which preserves mean 0 and variance 1.",
        .example = "pyburn.selu(pyburn.tensor([-1., 1.]))",
        .samples = kFloatingSamples,
        .in_place = true},
    {.schema = "celu(Tensor input, float alpha=1.0) -> Tensor",
        .doc = "Applies the continuously differentiable exponential linear unit element-wise: x where x > 0, else alpha * (exp(x / alpha) "
               "- 1).",
        .example = "pyburn.celu(pyburn.tensor([-1., 1.]))",
        .samples = "t(2, 3)\nt(), 0.5\nt(0, 3)\nt(4, 3).T, 2.0\nt(2, 1).expand(2, 5)\nt(5, dtype=f64)\nt(5, dtype=f16)\nt(2), 0.0 ! alpha",
        .in_place = true},
    {.schema = "softsign(Tensor input) -> Tensor",
        .doc = "Applies softsign element-wise: x / (1 + |x|).",
        .torch = "torch.nn.functional.softsign",
        .example = "pyburn.softsign(pyburn.tensor([-1., 3.]))",
        .samples = "t(2, 3)\nt()\nt(0, 3)\nt(4, 3).T\nt(2, 1).expand(2, 5)\nt(5, dtype=f64)\nt(5, dtype=f16)\nNone ! Tensor"},
    {.schema = "tanhshrink(Tensor input) -> Tensor",
        .doc = "Applies tanh shrinkage element-wise: x - tanh(x).",
        .torch = "torch.nn.functional.tanhshrink",
        .example = "pyburn.tanhshrink(pyburn.tensor([-1., 3.]))",
        .samples = "t(2, 3)\nt()\nt(0, 3)\nt(4, 3).T\nt(2, 1).expand(2, 5)\nt(5, dtype=f64)\nt(5, dtype=f16)\nNone ! Tensor"},
    {.schema = "prelu(Tensor input, Tensor weight) -> Tensor",
        .doc = "Applies the parametric rectified linear unit: x where x > 0, else weight * x. The weight has one element, or one per "
               "channel (dimension 1).",
        .example = "pyburn.prelu(pyburn.tensor([-1., 1.]), pyburn.tensor([0.5]))",
        .samples = "t(2, 3), t(3)\nt(2, 3, 4), t(1)\nt(2, 3, 4), t(3)\nt(5), t(1)\nt(), t(1)\nt(0, 3), t(3)\nt(3, 2).T, t(3)\n"
                   "t(2, 1).expand(2, 3), t(3)\nt(5, dtype=f64), t(1, dtype=f64)\nt(2, 3), t(2) ! channel"},
    {.schema = "glu(Tensor input, int dim=-1) -> Tensor",
        .doc = "Applies the gated linear unit: splits input into two halves along dim and returns the first half times the sigmoid of the "
               "second.",
        .torch = "torch.nn.functional.glu",
        .example = "pyburn.glu(pyburn.tensor([1., 2., 0., 0.]))",
        .samples =
            "t(2, 4)\nt(4, 3), 0\nt(2, 6, 3), dim=1\nt(0, 4)\nt(4, 3).T\nt(2, 1).expand(2, 4)\nt(4, dtype=f64)\nt() ! dimension\nt(2, 3) "
            "! even"},
};
}

TensorHandle fn::relu6(const TensorHandle& input) { return hardtanh(input, 0, 6); }
TensorHandle fn::selu(const TensorHandle& input) {
  return elu(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946);
}
TensorHandle fn::celu(const TensorHandle& input, double alpha) {
  require<ValueError>(alpha != 0, "[celu] alpha must not be 0: got {}", alpha);
  return elu(input, alpha, 1, 1 / alpha);
}
TensorHandle fn::softsign(const TensorHandle& input) { return input / (abs(input) + 1); }
TensorHandle fn::tanhshrink(const TensorHandle& input) { return input - tanh(input); }
TensorHandle fn::prelu(const TensorHandle& input, const TensorHandle& weight) {
  require<ValueError>(weight.defined(), "[prelu] expected a weight: got None");
  const int64_t channels = input.rank() > 1 ? input.shape()[1] : 1;
  require(weight.numel() == 1 || weight.shape() == Shape{channels}, "[prelu] expected one weight, or one per channel: got {} for {}",
      weight.shape(), input.shape());
  Dims along(weight.numel() == 1 ? 0 : input.rank(), 1);
  if (weight.numel() != 1) along[1] = channels;
  return where(gt(input, 0), input, input * reshape(weight, along));
}
TensorHandle fn::glu(const TensorHandle& input, int64_t dim) {
  require(input.rank() > 0, "[glu] expected at least one dimension: got {}", input.shape());
  const int64_t axis = normalise_dim(dim, input.rank()), half = input.shape()[axis] / 2;
  require(2 * half == input.shape()[axis], "[glu] expected an even size along dim: got {}", input.shape());
  return slice(input, axis, 0, half, 1) * sigmoid(slice(input, axis, half, 2 * half, 1));
}

void register_activation(OpTable& table) {
  table.add(
      {&op::relu, &op::sigmoid, &op::gelu, &op::gelu_gradient, &op::silu, &op::silu_gradient, &op::mish, &op::softplus, &op::logsigmoid,
          &op::hardtanh, &op::hardswish, &op::hardsigmoid, &op::leaky_relu, &op::elu, &op::softshrink, &op::hardshrink, &op::threshold});
  table.add(functions);
}

}  // namespace pyburn
